"""SciPy's functions on traced arrays, in folders of its packages' names; `fourier` has scipy.fft, `sampled` sums."""
