"""Linear systems by scipy.signal with traced coefficients, states or inputs: responses in time and frequency.

    t, y, x = signal.lsim(([1.0], [1.0, c, k]), u, t)     t, y = signal.step(system, T=t)     signal.bode(system, w)

A system is a numerator and a denominator, zeros, poles and a gain, or four matrices. Its steps are products with one
matrix exponential (C. Moler & C. Van Loan, SIAM Review 45, 2003), in a loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.numpy.scipy.special.functions import given
from ...compiler.frontend.patched.recoded import concrete, recode
from ..control import scan
from .closed import vector


def _matrix(x: Any) -> Any:
    made = vector(x)
    return made if made.ndim == 2 else np.reshape(made, (1, -1)) if made.ndim else np.reshape(made, (1, 1))


def states(name: str, system: Any) -> tuple[Any, Any, Any, Any]:
    """A, B, C and D of x' = A x + B u, y = C x + D u; of a fraction in controller form."""
    if not isinstance(system, (tuple, list)):
        made = given(f"scipy.signal.{name}", "system", system).to_ss()
        system = made.A, made.B, made.C, made.D
    if len(system) == 4:
        a, b, c, d = system
        return _matrix(a), np.reshape(vector(b), (np.shape(vector(a))[0], -1)), _matrix(c), _matrix(d)
    top, bottom = fraction(system)
    n = bottom.shape[0] - 1
    if top.shape[0] > n + 1:
        raise ValueError("Improper transfer function. `num` is longer than `den`.")
    whole = np.concatenate([np.zeros(n + 1 - top.shape[0]), top]) / bottom[0]
    rest = bottom[1:] / bottom[0]
    if n == 0:
        return np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), np.reshape(whole, (1, 1))
    a = np.concatenate([-rest[None], np.eye(n - 1, n)])
    return a, np.eye(n, 1), (whole[1:] - whole[0] * rest)[None], np.reshape(whole[0], (1, 1))


def fraction(system: Any) -> tuple[Any, Any]:
    """Numerator and denominator, the highest power first; the denominator's first is not zero."""
    if len(system) == 3:
        zeros, poles, gain = system
        return vector(np.poly(vector(zeros)) * vector(gain)), vector(np.poly(vector(poles)))
    if len(system) != 2:
        R.refuse(f"a system of scipy.signal of {len(system)} parts with traced values", "give it two, three or four")
    return np.reshape(vector(system[0]), (-1,)), np.reshape(vector(system[1]), (-1,))


# ---- in time


def lsim(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> Any:
    """U is held between times, or goes straight from one to the next."""
    a, b, c, d = states("lsim", system)
    times = np.atleast_1d(given("scipy.signal.lsim", "T", T)).astype(float)
    if times.ndim != 1 or times[0] < 0:
        raise ValueError("T must be a rank-1 array of times from 0 on.")
    step = times[1] - times[0] if times.size > 1 else 0.0
    if not np.allclose(np.diff(times), step):
        raise ValueError("Time steps are not equally spaced.")
    n, m = b.shape
    start = np.zeros(n) if X0 is None else np.reshape(vector(X0), (-1,))
    start = start if times[0] == 0 else _exponential(a * times[0]) @ start
    quiet = U is None or (concrete(U) and not np.any(U))
    inputs = np.zeros((times.size, m)) if quiet else np.reshape(vector(U), (-1, m))
    if inputs.shape[0] != times.size:
        raise ValueError(f"U must have the same number of rows as elements in T: {inputs.shape[0]} for {times.size}.")
    rows = [np.concatenate([a * step, b * step, np.zeros((n, m))], 1),
            np.concatenate([np.zeros((m, n + m)), np.eye(m)], 1), np.zeros((m, n + 2 * m))]  # fmt: skip
    whole = _exponential(np.concatenate(rows))
    along, held, rising = whole[:n, :n], whole[:n, n : n + m], whole[:n, n + m :]

    def move(x: Any, each: Any) -> Any:
        now, later = each
        after = along @ x + held @ now + (rising @ (later - now) if interp else 0.0)
        return after, after

    _, behind = scan(move, vector(start), (inputs[:-1], inputs[1:])) if times.size > 1 else (None, np.zeros((0, n)))
    path = np.concatenate([start[None], behind])
    return times, np.squeeze(path @ np.transpose(c) + inputs @ np.transpose(d)), np.squeeze(path)


def _exponential(x: Any) -> Any:
    import scipy.linalg

    return scipy.linalg.expm(x)


def _times(name: str, T: Any) -> Any:
    if T is None:
        R.refuse(f"{name} without T, whose times depend on the poles, on a traced system", "give the times: T=t")
    return given(f"scipy.signal.{name}", "T", T)


def impulse(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> Any:
    a, b, c, d = states("impulse", system)
    start = np.squeeze(b, axis=1) if X0 is None else np.squeeze(b + vector(X0), axis=1)
    return lsim((a, b, c, d), None, _times("impulse", T), start, False)[:2]


def step(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> Any:
    times = np.asarray(_times("step", T))
    return lsim(states("step", system), np.ones(times.shape), times, X0, False)[:2]


def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> Any:
    if not isinstance(system, (tuple, list)):
        R.refuse("dlsim of an object with traced values", "give it a tuple: (num, den, dt) or (A, B, C, D, dt)")
    if t is not None:
        R.refuse("dlsim with t on traced values", "leave t out, and give u at the steps of the system")
    a, b, c, d = states("dlsim", system[:-1])
    inputs, dt = np.reshape(vector(u), (-1, b.shape[1])), given("scipy.signal.dlsim", "dt", system[-1])
    start = np.zeros(a.shape[0]) if x0 is None else np.reshape(vector(x0), (-1,))

    def move(x: Any, now: Any) -> Any:
        return a @ x + b @ now, x

    _, path = scan(move, vector(start), inputs)
    made = path @ np.transpose(c) + inputs @ np.transpose(d)
    times = np.linspace(0.0, (inputs.shape[0] - 1) * dt, inputs.shape[0])
    return (times, made, path) if len(system) == 5 else (times, made)


# ---- in frequency


def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    if w is None:
        R.refuse("freqresp or bode without w, whose frequencies depend on the poles, on a traced system", "give w")
    w = np.atleast_1d(w if not concrete(w) else np.asarray(w, float))
    if isinstance(system, (tuple, list)) and len(system) != 4:
        top, bottom = fraction(system)
        return w, np.polyval(top, 1j * w) / np.polyval(bottom, 1j * w)
    a, b, c, d = states("freqresp", system)
    if b.shape[1] != 1 or c.shape[0] != 1:
        R.refuse("freqresp of several inputs or outputs on traced values", "give one of each")
    shifted = 1j * w[:, None, None] * np.eye(a.shape[0]) - a
    return w, (c @ np.linalg.solve(shifted, b + np.zeros((w.shape[0], 1, 1))) + d)[:, 0, 0]


def bode(system: Any, w: Any = None, n: int = 100) -> Any:
    w, made = freqresp(system, w)
    turn = np.unwrap(np.arctan2(np.imag(made), np.real(made)))
    return w, 20.0 * np.log10(np.abs(made)), turn * (180.0 / math.pi)


def lombscargle(
    x: Any, y: Any, freqs: Any, precenter: Any = None, normalize: Any = False, *, weights: Any = None,
    floating_mean: bool = False,
) -> Any:  # fmt: skip
    """The power that a sine of each frequency explains, by the normal equations of its two parts."""
    if precenter not in (None, False) and not type(precenter).__name__.startswith("_NoValue"):
        y = vector(y) - np.mean(vector(y))
    kind = {False: "power", True: "normalize"}.get(normalize, normalize)
    if kind not in ("power", "normalize"):
        R.refuse(f"lombscargle with normalize={normalize!r} on traced values", "use False, or True")
    x, y, freqs = vector(x), vector(y), vector(freqs)
    share = np.full(x.shape, 1.0) if weights is None else vector(weights)
    share = share / np.sum(share)
    angle = freqs[:, None] * x
    cos, sin = np.cos(angle), np.sin(angle)
    if floating_mean:
        cos, sin, y = (z - np.sum(share * z, axis=-1, keepdims=True) for z in (cos, sin, y))
    along, across = (cos * y) @ share, (sin * y) @ share
    cc, ss, cs = (cos * cos) @ share, (sin * sin) @ share, (cos * sin) @ share
    explained = (along * along * ss + across * across * cc - 2.0 * along * across * cs) / (cc * ss - cs * cs)
    return np.squeeze(explained * (0.5 * x.shape[0] if kind == "power" else 1.0 / np.sum(share * y * y)))


recode("scipy.signal", {
    "lsim": lsim, "impulse": impulse, "step": step, "dlsim": dlsim, "freqresp": freqresp, "bode": bode,
    "lombscargle": lombscargle,
})  # fmt: skip

__all__ = ["lsim", "states"]
