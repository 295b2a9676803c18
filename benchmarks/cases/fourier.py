"""The Fourier transform of complex numbers with its gradient, which is another one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import Case

from pullback import value_and_grad


def cases(size: str) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    n = 64 if size == "tiny" else 4096
    z = rng.normal(size=n) + 1j * rng.normal(size=n)
    target = np.roll(z, 1)
    ours = value_and_grad(lambda z: np.real(np.vdot(target, np.fft.fft(z))))

    def by_hand():
        return np.vdot(target, np.fft.fft(z)).real, np.fft.ifft(target, norm="forward")

    name = f"fft with its gradient, {n:,} complex128"
    yield Case(name, {"pullback": lambda: ours(z), "NumPy": by_hand}, goals=(("NumPy", 1 / 1.2),))
