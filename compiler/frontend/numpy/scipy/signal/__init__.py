"""scipy.signal on traced signals: filters, responses and estimates of spectra."""
