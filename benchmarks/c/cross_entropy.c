/* The mean of -log softmax(x)[label] over rows, and its gradient. */
#include <math.h>

float cross_entropy(long n, long m, const float *restrict x, const long *restrict label, float *restrict back) {
    double value = 0;
    for (long i = 0; i < n; i++) {
        const float *restrict row = x + i * m;
        float *restrict out = back + i * m;
        float largest = row[0], sum = 0;
        for (long j = 1; j < m; j++) largest = row[j] > largest ? row[j] : largest;
        for (long j = 0; j < m; j++) {
            float e = expf(row[j] - largest);
            out[j] = e;
            sum += e;
        }
        float scale = 1 / (sum * n);
        for (long j = 0; j < m; j++) out[j] *= scale;
        out[label[i]] -= 1.0f / n;
        value += logf(sum) + largest - row[label[i]];
    }
    return value / n;
}
