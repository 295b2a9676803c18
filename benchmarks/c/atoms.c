/* The Lennard-Jones energy of atoms and its gradient, every pair once. */
double atoms(long n, const double *restrict x, double *restrict gradient) {
    double px[n], py[n], pz[n], gx[n], gy[n], gz[n], energy = 0;
    for (long i = 0; i < n; i++) {
        px[i] = x[3 * i], py[i] = x[3 * i + 1], pz[i] = x[3 * i + 2];
        gx[i] = gy[i] = gz[i] = 0;
    }
    for (long i = 0; i < n; i++) {
        double sx = 0, sy = 0, sz = 0, sum = 0;
#pragma GCC ivdep
        for (long j = i + 1; j < n; j++) {
            double dx = px[i] - px[j], dy = py[i] - py[j], dz = pz[i] - pz[j];
            double inverse = 1 / (dx * dx + dy * dy + dz * dz), sixth = inverse * inverse * inverse;
            double slope = (24 * sixth - 48 * sixth * sixth) * inverse;
            sum += sixth * sixth - sixth;
            sx += slope * dx, sy += slope * dy, sz += slope * dz;
            gx[j] -= slope * dx, gy[j] -= slope * dy, gz[j] -= slope * dz;
        }
        gx[i] += sx, gy[i] += sy, gz[i] += sz;
        energy += sum;
    }
    for (long i = 0; i < n; i++) gradient[3 * i] = gx[i], gradient[3 * i + 1] = gy[i], gradient[3 * i + 2] = gz[i];
    return 4 * energy;
}
