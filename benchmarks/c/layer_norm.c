/* The sum of weights times normalised rows, and its gradients in the rows, the gain and the shift. */
#include <math.h>
#include <string.h>

double layer_norm(long n, long m, const float *restrict x, const float *restrict gain, const float *restrict shift,
                  const float *restrict weights, float *restrict gx, float *restrict g_gain, float *restrict g_shift) {
    double value = 0;
    memset(g_gain, 0, m * sizeof(float));
    memset(g_shift, 0, m * sizeof(float));
    for (long i = 0; i < n; i++) {
        const float *restrict row = x + i * m, *restrict w = weights + i * m;
        float *restrict out = gx + i * m;
        float sum = 0, squares = 0, mean_back = 0, along = 0, part = 0;
        for (long j = 0; j < m; j++) sum += row[j];
        float mean = sum / m;
        for (long j = 0; j < m; j++) squares += (row[j] - mean) * (row[j] - mean);
        float scale = 1 / sqrtf(squares / m + 1e-5f);
        for (long j = 0; j < m; j++) {
            float normed = (row[j] - mean) * scale, back = w[j] * gain[j];
            mean_back += back;
            along += back * normed;
            part += back * normed + shift[j] * w[j];
            g_gain[j] += w[j] * normed;
            g_shift[j] += w[j];
        }
        mean_back /= m;
        along /= m;
        for (long j = 0; j < m; j++)
            out[j] = (w[j] * gain[j] - mean_back - (row[j] - mean) * scale * along) * scale;
        value += part;
    }
    return value;
}
