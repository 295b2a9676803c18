/* The root of x^3 + kx = c by Newton's method and its gradient, backwards over the steps that it took. */
#include <math.h>
#include <stdlib.h>

double newton(const double *given, double *gc, double *gk) {
    double c = given[0], k = given[1], x = c, f = x * x * x + k * x - c;
    long steps = 0, room = 64;
    double *kept = malloc(room * sizeof(double));
    while (fabs(f) > 1e-12) {
        if (steps == room) kept = realloc(kept, (room *= 2) * sizeof(double));
        kept[steps++] = x;
        x -= f / (3 * x * x + k);
        f = x * x * x + k * x - c;
    }
    double value = x, back = 1, to_c = 0, to_k = 0;
    while (steps--) {
        x = kept[steps];
        double inverse = 1 / (3 * x * x + k), ratio = (x * x * x + k * x - c) * inverse;
        to_c += back * inverse;
        to_k += back * (ratio - x) * inverse;
        back *= 6 * x * ratio * inverse;
    }
    *gc = to_c + back, *gk = to_k;
    free(kept);
    return value;
}
