"""Convolutions, pooling, Fourier transforms and signals."""
