/* The price of a call on a stock with a wandering volatility, and its gradient in six parameters. Paths go in groups whose
   variances, kept for the way back, fit the cache near the processor. */
#include <math.h>
#include <string.h>

#define GROUP 32
#define DAYS 256
#define DT (1.0 / 252)
#define STRIKE 1.05

double volatility(long days, long paths, const double *given, const double *restrict first,
                  const double *restrict second, double *g_spot, double *g_variance, double *g_pull, double *g_mean,
                  double *g_wander, double *g_rho) {
    static double kept[DAYS][GROUP];
    double spot = given[0], variance = given[1], pull = given[2], mean = given[3], wander = given[4], rho = given[5];
    double other = sqrt(1 - rho * rho), start = log(spot), value = 0;
    double t_spot[GROUP] = {0}, t_variance[GROUP] = {0}, t_pull[GROUP] = {0}, t_mean[GROUP] = {0}, t_wander[GROUP] = {0},
           t_rho[GROUP] = {0};
    for (long from = 0; from < paths; from += GROUP) {
        long n = paths - from < GROUP ? paths - from : GROUP;
        double s[GROUP], v[GROUP], back_s[GROUP], back_v[GROUP];
        for (long i = 0; i < n; i++) s[i] = start, v[i] = variance;
        for (long day = 0; day < days; day++) {
            const double *z = first + day * paths + from, *w = second + day * paths + from;
            for (long i = 0; i < n; i++) {
                kept[day][i] = v[i];
                double positive = v[i] > 1e-8 ? v[i] : 1e-8, step = sqrt(positive * DT);
                s[i] += step * z[i] - 0.5 * DT * positive;
                v[i] += pull * (mean - positive) * DT + wander * step * (rho * z[i] + other * w[i]);
            }
        }
        for (long i = 0; i < n; i++) {
            double end = exp(s[i]);
            value += end > STRIKE ? end - STRIKE : 0;
            back_s[i] = end > STRIKE ? end : 0, back_v[i] = 0;
        }
        for (long day = days - 1; day >= 0; day--) {
            const double *z = first + day * paths + from, *w = second + day * paths + from;
            for (long i = 0; i < n; i++) {
                double positive = kept[day][i] > 1e-8 ? kept[day][i] : 1e-8, step = sqrt(positive * DT);
                double noise = rho * z[i] + other * w[i];
                t_pull[i] += back_v[i] * (mean - positive);
                t_mean[i] += back_v[i];
                t_wander[i] += back_v[i] * step * noise;
                t_rho[i] += back_v[i] * step * (z[i] - rho / other * w[i]);
                double back = (back_s[i] * z[i] + back_v[i] * wander * noise) * (0.5 * DT) / step -
                              (0.5 * back_s[i] + pull * back_v[i]) * DT;
                back_v[i] += kept[day][i] > 1e-8 ? back : 0;
            }
        }
        for (long i = 0; i < n; i++) t_spot[i] += back_s[i], t_variance[i] += back_v[i];
    }
    double spots = 0, variances = 0, pulls = 0, means = 0, wanders = 0, rhos = 0;
    for (long i = 0; i < GROUP; i++) {
        spots += t_spot[i], variances += t_variance[i], pulls += t_pull[i];
        means += t_mean[i], wanders += t_wander[i], rhos += t_rho[i];
    }
    *g_spot = spots / spot / paths, *g_variance = variances / paths, *g_pull = pulls * DT / paths;
    *g_mean = means * pull * DT / paths, *g_wander = wanders / paths, *g_rho = rhos * wander / paths;
    return value / paths;
}
