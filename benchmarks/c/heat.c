/* Steps of the heat equation, how far the end is from what is wanted, and the gradient of the beginning. A step is linear,
   so nothing is kept; both ways go between two plates. */
#include <stdlib.h>
#include <string.h>

#define RATE 0.2

static void step(long n, long m, const double *restrict u, double *restrict to) {
    for (long i = 1; i < n - 1; i++) {
        const double *above = u + (i - 1) * m, *row = u + i * m, *below = u + (i + 1) * m;
        for (long j = 1; j < m - 1; j++)
            to[i * m + j] = (1 - 4 * RATE) * row[j] + RATE * (above[j] + below[j] + row[j - 1] + row[j + 1]);
    }
}

/* The transpose: an element gets from its neighbours that are not on the edge. */
static void back(long n, long m, const double *restrict b, double *restrict to) {
    for (long i = 1; i < n - 1; i++) {
        const double *above = b + (i - 1) * m, *row = b + i * m, *below = b + (i + 1) * m;
        double up = i > 1 ? RATE : 0, down = i < n - 2 ? RATE : 0;
        for (long j = 2; j < m - 2; j++)
            to[i * m + j] = (1 - 4 * RATE) * row[j] + up * above[j] + down * below[j] + RATE * (row[j - 1] + row[j + 1]);
        for (long side = 0; side < 2; side++) {
            long j = side ? m - 2 : 1;
            double left = j > 1 ? RATE * row[j - 1] : 0, right = j < m - 2 ? RATE * row[j + 1] : 0;
            if (side && m == 3) break;
            to[i * m + j] = (1 - 4 * RATE) * row[j] + up * above[j] + down * below[j] + left + right;
        }
        to[i * m] = row[0] + RATE * row[1];
        to[i * m + m - 1] = row[m - 1] + RATE * row[m - 2];
    }
    for (long j = 0; j < m; j++) {
        double inner = j > 0 && j < m - 1 ? RATE : 0;
        to[j] = b[j] + inner * b[m + j];
        to[(n - 1) * m + j] = b[(n - 1) * m + j] + inner * b[(n - 2) * m + j];
    }
}

double heat(long n, long m, long steps, const double *restrict start, const double *restrict wanted, double *slope) {
    double *a = malloc(2 * n * m * sizeof(double)), *b = a + n * m, *swap, *all = a, value = 0;
    memcpy(a, start, n * m * sizeof(double));
    memcpy(b, start, n * m * sizeof(double));
    for (long k = 0; k < steps; k++) {
        step(n, m, a, b);
        swap = a, a = b, b = swap;
    }
    for (long k = 0; k < n * m; k++) {
        double off = a[k] - wanted[k];
        value += off * off;
        a[k] = 2 * off;
    }
    for (long k = 0; k < steps; k++) {
        back(n, m, a, b);
        swap = a, a = b, b = swap;
    }
    memcpy(slope, a, n * m * sizeof(double));
    free(all);
    return value;
}
