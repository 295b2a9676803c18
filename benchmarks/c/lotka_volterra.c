/* Where Runge-Kutta steps of predators and prey end, and the gradient in four rates and two beginnings. The states at the
   beginning of the steps are kept, what lies between is computed again. */
#include <stdlib.h>

#define H 0.01

double lotka_volterra(long steps, const double *given, double *ga, double *gb, double *gc, double *gd, double *gx,
                      double *gy) {
    double a = given[0], b = given[1], c = given[2], d = given[3], x = given[4], y = given[5];
    double *kept = malloc(2 * steps * sizeof(double)), h = H, half = 0.5 * H, sixth = H / 6;
    for (long i = 0; i < steps; i++) {
        kept[2 * i] = x, kept[2 * i + 1] = y;
        double k1 = x * (a - b * y), l1 = y * (c * x - d), x2 = x + half * k1, y2 = y + half * l1;
        double k2 = x2 * (a - b * y2), l2 = y2 * (c * x2 - d), x3 = x + half * k2, y3 = y + half * l2;
        double k3 = x3 * (a - b * y3), l3 = y3 * (c * x3 - d), x4 = x + h * k3, y4 = y + h * l3;
        double k4 = x4 * (a - b * y4), l4 = y4 * (c * x4 - d);
        x += sixth * (k1 + 2 * (k2 + k3) + k4), y += sixth * (l1 + 2 * (l2 + l3) + l4);
    }
    double value = (x - 4) * (x - 4) + (y - 3) * (y - 3), u = 2 * (x - 4), v = 2 * (y - 3);
    double ta = 0, tb = 0, tc = 0, td = 0;
    for (long i = steps - 1; i >= 0; i--) {
        x = kept[2 * i], y = kept[2 * i + 1];
        double k1 = x * (a - b * y), l1 = y * (c * x - d), x2 = x + half * k1, y2 = y + half * l1;
        double k2 = x2 * (a - b * y2), l2 = y2 * (c * x2 - d), x3 = x + half * k2, y3 = y + half * l2;
        double k3 = x3 * (a - b * y3), l3 = y3 * (c * x3 - d), x4 = x + h * k3, y4 = y + h * l3;
        double p = sixth * u, q = sixth * v, r = p, s = q;
        double u4 = r * (a - b * y4) + s * c * y4, v4 = s * (c * x4 - d) - r * b * x4;
        ta += r * x4, tb -= r * x4 * y4, tc += s * x4 * y4, td -= s * y4;
        r = 2 * p + h * u4, s = 2 * q + h * v4;
        double u3 = r * (a - b * y3) + s * c * y3, v3 = s * (c * x3 - d) - r * b * x3;
        ta += r * x3, tb -= r * x3 * y3, tc += s * x3 * y3, td -= s * y3;
        r = 2 * p + half * u3, s = 2 * q + half * v3;
        double u2 = r * (a - b * y2) + s * c * y2, v2 = s * (c * x2 - d) - r * b * x2;
        ta += r * x2, tb -= r * x2 * y2, tc += s * x2 * y2, td -= s * y2;
        r = p + half * u2, s = q + half * v2;
        ta += r * x, tb -= r * x * y, tc += s * x * y, td -= s * y;
        u += r * (a - b * y) + s * c * y + u2 + u3 + u4, v += s * (c * x - d) - r * b * x + v2 + v3 + v4;
    }
    free(kept);
    *ga = ta, *gb = tb, *gc = tc, *gd = td, *gx = u, *gy = v;
    return value;
}
