"""Cases of scipy.signal."""

from typing import Any

import numpy as np
from scipy import signal

from tests.numpy_cases import Case, spread

S: Any = signal
ROW, KERNEL, WIDE, ROWS = spread(9), spread(4, seed=1), spread(5, 6), spread(3, 2, seed=2)
B, A = np.array([0.5, 0.2, 0.1]), np.array([2.0, -0.6, 0.3, 0.1])
LONG, ODD = spread(30), spread(3, 3, seed=5)
TIMES, RATES, STEPS = np.sort(spread(9, low=0.0, high=4.0, seed=6)), np.array([0.7, 1.9, 3.1]), np.arange(9.0) * 0.25
SQUARE = np.array([[-0.4, 1.0], [-1.3, -0.2]])


def _system(matrix: Any) -> Any:
    return matrix, np.array([[0.2], [1.0]]), np.array([[1.0, 0.3]]), np.array([[0.1]])


def case(of: str, function: Any, *args: Any) -> Case:
    return Case(f"scipy.signal.{of}", function, args, f32=False, rtol=1e-9)


CASES = [
    *(case(f"{name} {mode}", lambda x, k, n=name, mode=mode: getattr(S, n)(x, k, mode), ROW, KERNEL)
      for name in ("convolve", "correlate", "fftconvolve", "oaconvolve") for mode in ("full", "same", "valid")),
    *(case(f"{name} of images", lambda x, k, n=name: getattr(S, n)(x, k, "same"), WIDE, ODD)
      for name in ("convolve", "correlate", "fftconvolve")),
    *(case(f"{name} {mode} {edge}", lambda x, k, n=name, m=mode, e=edge: getattr(S, n)(x, k, m, e), WIDE, ROWS)
      for name in ("convolve2d", "correlate2d") for mode in ("full", "same", "valid")
      for edge in ("fill", "symm", "wrap")),
    case("convolve of a longer one", lambda x, k: S.convolve(k, x, "same"), ROW, KERNEL),
    case("convolve2d filled", lambda x, k: S.convolve2d(x, k, "same", fillvalue=1.5), WIDE, ROWS),
    case("fftconvolve long", lambda x, k: S.fftconvolve(np.tile(x, 30), np.tile(k, 20), "same"), LONG, LONG**2),
    case("lfilter", S.lfilter, B, A, ROW),
    case("lfilter without recursion", lambda b, x: S.lfilter(b, 1.0, x), B, ROW),
    case("lfilter axis", lambda a, x: S.lfilter([1.0], a, x, axis=0), A, WIDE),
    case("lfilter zi", lambda b, a, x, z: S.lfilter(b, a, x, zi=z), B, A, ROW, np.array([0.1, -0.2, 0.3])),
    case("lfilter_zi", S.lfilter_zi, B, A),
    case("sosfilt", lambda x: S.sosfilt(S.butter(4, 0.3, output="sos"), x), ROW),
    case("filtfilt", lambda x: S.filtfilt(*S.butter(3, 0.3), x), LONG),
    case("filtfilt traced", lambda b, a, x: S.filtfilt(b, a, x, padtype="even", padlen=5), B, A, ROW),
    case("filtfilt axis", lambda x: S.filtfilt(B, A, x, axis=0, padtype="constant", padlen=3), WIDE),
    case("detrend", S.detrend, ROW),
    case("detrend constant", lambda x: S.detrend(x, 0, "constant"), WIDE),
    case("hilbert", lambda x: np.abs(S.hilbert(x)), ROW),
    case("hilbert even", lambda x: S.hilbert(x, 8, 0), WIDE),
    case("savgol_filter", lambda x: S.savgol_filter(x, 5, 2), ROW),
    case("savgol_filter slopes", lambda x: S.savgol_filter(x, 5, 3, 1, 0.1, 0, "nearest"), WIDE),
    case("savgol_filter mirror", lambda x: S.savgol_filter(x, 5, 3, mode="mirror"), ROW),
    case("welch", lambda x: S.welch(x, 2.0, nperseg=8)[1], LONG),
    case("welch spectrum", lambda x: S.welch(x, nperseg=7, noverlap=2, nfft=9, scaling="spectrum", axis=0)[1], LONG),
    case("welch both sides", lambda x: S.welch(x, nperseg=8, return_onesided=False, detrend=False)[1], LONG),
    case("periodogram", lambda x: S.periodogram(x, window="hamming")[1], ROW),
    case("medfilt", lambda x: S.medfilt(x, 5), LONG),
    case("medfilt2d", lambda x: S.medfilt2d(x, 3), WIDE),
    case("istft", lambda x: S.istft(S.stft(x, nperseg=8)[2], 2.0, nperseg=8)[1] ** 2, LONG),
    case("istft psd", lambda x: S.istft(x[:5] + 1j * x[5:], 1.0, "hamming", 8, 6, boundary=False, scaling="psd")[1],
         spread(10, 6, seed=9)),
    case("lombscargle", lambda x, y, w: S.lombscargle(x, y, w), TIMES, ROW, RATES),
    case("lombscargle normalized", lambda x, y, w: S.lombscargle(x, y, w, normalize=True, floating_mean=True),
         TIMES, ROW, RATES),
    case("lombscargle weights", lambda y, q: S.lombscargle(TIMES, y, RATES, weights=q), ROW, TIMES + 1.0),
    case("lsim", lambda b, a, u: S.lsim((b, a), u, STEPS)[1:], B[:2], A, ROW),
    case("lsim held", lambda m, u, x: S.lsim(_system(m), u, STEPS + 0.5, x, interp=False)[1:], SQUARE, ROW, B[:2]),
    case("lsim quiet", lambda m, x: S.lsim(_system(m), None, STEPS, x)[1:], SQUARE, B[:2]),
    case("lsim zeros and poles", lambda z, p: S.lsim((z, p, 2.0), STEPS**2, STEPS)[1], B[:1], A[1:]),
    case("impulse", lambda b, a: S.impulse((b, a), T=STEPS)[1], B[:2], A),
    case("step", lambda m: S.step(_system(m), X0=[0.3, 0.1], T=STEPS)[1], SQUARE),
    case("dlsim", lambda b, a, u: S.dlsim((b, a, 0.5), u)[1], B[:2], A, ROW),
    case("dlsim states", lambda m, u: S.dlsim((*_system(m), 0.5), u, x0=[1.0, 2.0])[1:], SQUARE, ROW),
    case("freqresp", lambda b, a, w: np.abs(S.freqresp((b, a), w)[1]), B, A, RATES),
    case("freqresp states", lambda m: np.abs(S.freqresp(_system(m), RATES)[1]), SQUARE),
    case("bode", lambda b, a: S.bode((b, a), RATES)[1:], B, A),
]
