/* Call a kernel many times, so that a C version is timed without the cost of being called from Python. All its
   arguments are integers or addresses, and extra ones do no harm in the calling conventions of Unix. */

typedef long (*kernel)(long, long, long, long, long, long, long, long, long, long, long, long, long, long);

void repeat(long count, kernel f, const long *a) {
    for (long i = 0; i < count; i++)
        f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]);
}
