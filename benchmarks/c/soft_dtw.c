/* Soft dynamic time warping and the gradient of its costs: the three shares of every cell are kept, so the way back has
   no exponentials. */
#include <math.h>
#include <stdlib.h>

double soft_dtw(long n, long m, const double *restrict costs, double *restrict slope) {
    long w = m + 1;
    double *r = malloc((n + 1) * w * sizeof(double)), *shares = malloc(3 * n * m * sizeof(double));
    for (long j = 1; j <= m; j++) r[j] = 1e10;
    r[0] = 0;
    for (long i = 1; i <= n; i++) {
        double left = r[i * w] = 1e10;
        for (long j = 1; j <= m; j++) {
            double a = r[(i - 1) * w + j - 1], b = r[(i - 1) * w + j];
            double low = fmin(fmin(a, b), left), *s = shares + 3 * ((i - 1) * m + j - 1);
            double ea = exp(low - a), eb = exp(low - b), ec = exp(low - left), total = ea + eb + ec;
            left = r[i * w + j] = costs[(i - 1) * m + j - 1] + low - log(total);
            total = 1 / total;
            s[0] = ea * total, s[1] = eb * total, s[2] = ec * total;
        }
    }
    double value = r[n * w + m];
    for (long k = 0; k < n * m; k++) slope[k] = 0;
    slope[n * m - 1] = 1;
    for (long i = n - 1; i >= 0; i--)
        for (long j = m - 1; j >= 0; j--) {
            double e = slope[i * m + j];
            const double *s = shares + 3 * (i * m + j);
            if (i && j) slope[(i - 1) * m + j - 1] += s[0] * e;
            if (i) slope[(i - 1) * m + j] += s[1] * e;
            if (j) slope[i * m + j - 1] += s[2] * e;
        }
    free(r);
    free(shares);
    return value;
}
