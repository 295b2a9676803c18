/* The log-likelihood of a mixture of Gaussians and its gradient. Samples are taken in blocks, with one vector lane for each
   sample, and the transformed samples of a block are kept for the way back. */
#include <math.h>
#include <string.h>

enum { B = 64 };

double mixture(long n, long d, long k, const double *restrict alphas, const double *restrict means,
               const double *restrict inverse, const double *restrict x, double *restrict g_alphas,
               double *restrict g_means, double *restrict g_inverse) {
    long width = d + d * (d - 1) / 2;
    double value = 0, shares = 0, largest_alpha = alphas[0];
    static double kept[1 << 20], parts[1 << 16], xt[64 * B], pulled[64 * B];
    memset(g_alphas, 0, k * sizeof(double));
    memset(g_means, 0, k * d * sizeof(double));
    memset(g_inverse, 0, k * width * sizeof(double));
    for (long i = 0; i < n; i += B) {
        long block = n - i < B ? n - i : B;
        double top[B], sum[B];
        for (long r = 0; r < d; r++)
            for (long b = 0; b < B; b++) xt[r * B + b] = b < block ? x[(i + b) * d + r] : 0;
        for (long j = 0; j < k; j++) {
            const double *q = inverse + j * width, *l = q + d, *mean = means + j * d;
            double squares[B] = {0}, start = alphas[j];
            for (long r = 0; r < d; r++) {
                double *restrict y = kept + (j * d + r) * B, e = exp(q[r]);
                start += q[r];
                for (long b = 0; b < B; b++) y[b] = e * (xt[r * B + b] - mean[r]);
                for (long c = 0; c < r; c++, l++)
                    for (long b = 0; b < B; b++) y[b] += *l * (xt[c * B + b] - mean[c]);
                for (long b = 0; b < B; b++) squares[b] += y[b] * y[b];
            }
            for (long b = 0; b < B; b++) parts[j * B + b] = start - 0.5 * squares[b];
        }
        for (long b = 0; b < B; b++) top[b] = parts[b], sum[b] = 0;
        for (long j = 1; j < k; j++)
            for (long b = 0; b < B; b++) top[b] = fmax(top[b], parts[j * B + b]);
        for (long j = 0; j < k; j++)
            for (long b = 0; b < B; b++) sum[b] += parts[j * B + b] = exp(parts[j * B + b] - top[b]);
        for (long b = 0; b < block; b++) value += log(sum[b]) + top[b];
        for (long b = 0; b < B; b++) sum[b] = b < block ? 1 / sum[b] : 0;
        for (long j = 0; j < k; j++) {
            const double *q = inverse + j * width, *l = q + d, *mean = means + j * d;
            double *gq = g_inverse + j * width, *gl = gq + d, *weight = parts + j * B, each = 0;
            for (long b = 0; b < B; b++) each += weight[b] *= sum[b];
            g_alphas[j] += each;
            memset(pulled, 0, d * B * sizeof(double));
            for (long r = 0; r < d; r++) {
                double *restrict y = kept + (j * d + r) * B, e = exp(q[r]), dot = 0;
                for (long b = 0; b < B; b++) {
                    y[b] *= weight[b];
                    dot += y[b] * (xt[r * B + b] - mean[r]);
                    pulled[r * B + b] += e * y[b];
                }
                gq[r] += each - e * dot;
                for (long c = 0; c < r; c++, l++, gl++) {
                    double cross = 0;
                    for (long b = 0; b < B; b++) {
                        cross += y[b] * (xt[c * B + b] - mean[c]);
                        pulled[c * B + b] += *l * y[b];
                    }
                    *gl -= cross;
                }
            }
            for (long r = 0; r < d; r++)
                for (long b = 0; b < B; b++) g_means[j * d + r] += pulled[r * B + b];
        }
    }
    for (long j = 1; j < k; j++) largest_alpha = fmax(largest_alpha, alphas[j]);
    for (long j = 0; j < k; j++) shares += exp(alphas[j] - largest_alpha);
    for (long j = 0; j < k; j++) g_alphas[j] -= n * exp(alphas[j] - largest_alpha) / shares;
    return value - n * (log(shares) + largest_alpha + 0.5 * d * log(2 * M_PI));
}
