"""Weights by their largest singular values, by hooks, under an older path."""

from pullback.runtime.nn.older_norms import SpectralNorm as SpectralNorm
from pullback.runtime.nn.older_norms import remove_spectral_norm as remove_spectral_norm
from pullback.runtime.nn.older_norms import spectral_norm as spectral_norm
