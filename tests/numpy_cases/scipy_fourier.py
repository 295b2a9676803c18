"""Cases of scipy.fft."""

from typing import Any

from scipy import fft

from tests.numpy_cases import Case, spread

F: Any = fft
ROW, ROWS, EVEN = spread(7), spread(3, 4), spread(6, seed=2)
KINDS = [(t, norm) for t in (1, 2, 3, 4) for norm in (None, "ortho", "forward")]


def case(of: str, function: Any, *args: Any) -> Case:
    return Case(f"scipy.fft.{of}", function, args, f32=False, rtol=1e-10)


CASES = [
    *(case(f"{name} {t} {norm}", lambda x, n=name, t=t, norm=norm: getattr(F, n)(x, type=t, norm=norm), ROW)
      for name in ("dct", "idct", "dst", "idst") for t, norm in KINDS),
    *(case(f"{name} even", lambda x, n=name: getattr(F, n)(x, n=5), EVEN)
      for name in ("dct", "idct", "dst", "idst")),
    *(case(name, getattr(F, name), ROWS) for name in ("dctn", "idctn", "dstn", "idstn")),
    case("dct axis", lambda x: F.dct(x, 2, 6, 0), ROWS),
    case("dctn axes", lambda x: F.dctn(x, axes=1, norm="ortho"), ROWS),
    *(case(name, lambda x, n=name: getattr(F, n)(x), ROW) for name in ("fft", "ifft", "rfft", "ihfft")),
    *(case(name, lambda x, n=name: getattr(F, n)(x + 1j * x**2), EVEN) for name in ("irfft", "hfft")),
    *(case(name, lambda x, n=name: getattr(F, n)(x), ROWS)
      for name in ("fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn")),
    *(case(name, lambda x, n=name: getattr(F, n)(x + 1j * x**2), ROWS)
      for name in ("irfft2", "irfftn")),
    case("fft workers", lambda x: F.fft(x, 5, 0, "ortho", True, 1), ROWS),
    case("fftshift", lambda x: F.ifftshift(F.fftshift(x)) * F.fftshift(x), ROW),
]
