/* The squared reprojection error of a bundle adjustment and its gradient in cameras and points, one observation after
   another. */
#include <math.h>
#include <string.h>

static inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void cross(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static inline double one(const double *camera, const double *point, const double *observed, double *gc, double *gp) {
    double x[3], axis[3], across[3], seen[3], to_seen[3], to_x[3], to_axis[3], turn[3], twist[3];
    for (int k = 0; k < 3; k++) x[k] = point[k] - camera[3 + k];
    double angle = sqrt(dot(camera, camera)), c = cos(angle), s = sin(angle);
    for (int k = 0; k < 3; k++) axis[k] = camera[k] / angle;
    double along = dot(axis, x);
    cross(axis, x, across);
    for (int k = 0; k < 3; k++) seen[k] = c * x[k] + s * across[k] + (1 - c) * along * axis[k];
    double u = seen[0] / seen[2], v = seen[1] / seen[2], square = u * u + v * v;
    double distortion = 1 + camera[9] * square + camera[10] * square * square, focal = camera[6];
    double eu = focal * distortion * u + camera[7] - observed[0], ev = focal * distortion * v + camera[8] - observed[1];
    double pulled = 2 * (u * eu + v * ev), bend = 2 * focal * pulled * (camera[9] + 2 * camera[10] * square);
    double to_u = 2 * focal * distortion * eu + bend * u, to_v = 2 * focal * distortion * ev + bend * v;
    to_seen[0] = to_u / seen[2], to_seen[1] = to_v / seen[2], to_seen[2] = -(u * to_u + v * to_v) / seen[2];
    double back = dot(axis, to_seen), to_angle = 0;
    cross(axis, to_seen, turn);
    cross(x, to_seen, twist);
    for (int k = 0; k < 3; k++) {
        to_x[k] = c * to_seen[k] - s * turn[k] + (1 - c) * back * axis[k];
        to_angle += to_seen[k] * (c * across[k] + s * (along * axis[k] - x[k]));
        to_axis[k] = s * twist[k] + (1 - c) * (along * to_seen[k] + back * x[k]);
    }
    double radial = dot(axis, to_axis);
    for (int k = 0; k < 3; k++) {
        gc[k] += (to_axis[k] - radial * axis[k]) / angle + to_angle * axis[k];
        gc[3 + k] -= to_x[k];
        gp[k] += to_x[k];
    }
    gc[6] += distortion * pulled;
    gc[7] += 2 * eu;
    gc[8] += 2 * ev;
    gc[9] += focal * pulled * square;
    gc[10] += focal * pulled * square * square;
    return eu * eu + ev * ev;
}

double reprojection(long n_cameras, long n_points, long n, const double *restrict cameras,
                    const double *restrict points, const double *restrict observed, const long *restrict by,
                    const long *restrict of, double *restrict g_cameras, double *restrict g_points) {
    double sum = 0;
    memset(g_cameras, 0, 11 * n_cameras * sizeof(double));
    memset(g_points, 0, 3 * n_points * sizeof(double));
    for (long i = 0; i < n; i++)
        sum += one(cameras + 11 * by[i], points + 3 * of[i], observed + 2 * i, g_cameras + 11 * by[i],
                   g_points + 3 * of[i]);
    return sum;
}
