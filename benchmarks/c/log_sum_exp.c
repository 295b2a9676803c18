/* log(sum(exp(x))) and its gradient, the softmax. */
#include <math.h>

double log_sum_exp(long n, const double *restrict x, double *restrict back) {
    double largest = x[0], sum = 0;
    for (long i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
    for (long i = 0; i < n; i++) {
        double e = exp(x[i] - largest);
        back[i] = e;
        sum += e;
    }
    double scale = 1 / sum;
    for (long i = 0; i < n; i++) back[i] *= scale;
    return largest + log(sum);
}
