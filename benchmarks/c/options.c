/* Black-Scholes calls: price, delta, gamma, rho, vega and theta in closed form, one loop. */
#include <math.h>

static inline double normal(double x) { return 0.5 * (1.0 + erf(x * 0.7071067811865476)); }

void options(long n, const double *restrict spot, const double *restrict strike, const double *restrict years,
            const double *restrict rate, const double *restrict volatility, double *restrict price,
            double *restrict delta, double *restrict gamma, double *restrict rho, double *restrict vega,
            double *restrict theta) {
    for (long i = 0; i < n; i++) {
        double s = spot[i], k = strike[i], t = years[i], r = rate[i], v = volatility[i];
        double root = sqrt(t), spread = v * root;
        double d1 = (log(s / k) + (r + 0.5 * v * v) * t) / spread;
        double n1 = normal(d1), owed = k * exp(-r * t) * normal(d1 - spread);
        double density = 0.3989422804014327 * exp(-0.5 * d1 * d1), slope = s * density * root;
        price[i] = s * n1 - owed;
        delta[i] = n1;
        gamma[i] = density / (s * spread);
        rho[i] = t * owed;
        vega[i] = slope;
        theta[i] = -0.5 * slope * v / t - r * owed;
    }
}
