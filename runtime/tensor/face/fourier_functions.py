"""Fourier transforms under the names that PyTorch gives them, taking `out`."""

from __future__ import annotations

from ..calls.recording import record_functions
from ..ops.windows import fourier as F
from .results import written

fft, ifft, rfft, irfft, hfft, ihfft = written(F.fft, F.ifft, F.rfft, F.irfft, F.hfft, F.ihfft)
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = written(F.fft2, F.ifft2, F.rfft2, F.irfft2, F.hfft2, F.ihfft2)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = written(F.fftn, F.ifftn, F.rfftn, F.irfftn, F.hfftn, F.ihfftn)
fftfreq, rfftfreq = written(F.fftfreq, F.rfftfreq)
fftshift, ifftshift = F.fftshift, F.ifftshift

record_functions(globals())

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
