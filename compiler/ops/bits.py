"""What is said of numbers by their bits: signs, neighbours, exponents, and divisors of whole ones, as primitives.

    copysign x, y     the size of x with the sign bit of y, that of a zero or a NaN too
    fmod x, y         x less the multiple of y towards zero: exact, with the sign of x
    frexp x           mantissa and exponent                    ldexp x, n       x * 2 ** n, rounded once
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir.types import Type
from .elementwise import Elementwise
from .library import Library
from .scipy.inverses import Own


def _copied(m: Any, ct: Any, x: Any, y: Any, r: Any) -> Any:
    """The cotangent where the signs agree and its negative where they differ; 0 at 0, where there is a kink."""
    turned = m.select(m.eq(m.copysign(1.0, x), m.copysign(1.0, y)), ct, -ct)
    return m.select(m.eq(x, 0), 0, turned)


copysign = Elementwise(
    "copysign", lambda m, x, y: m.select(m.lt(y, 0), -m.abs(x), m.abs(x)), np.copysign,
    pulls=(_copied, None), bounded=True, light=False,
)  # fmt: skip

fmod = Own(
    "fmod",
    lambda m, x, y: m.copysign(m.mod(m.abs(x), m.abs(y)), x),
    [lambda m, ct, x, y, r: ct, lambda m, ct, x, y, r: -(ct * m.rint((x - r) / y))],
    safe=2.0,
)


def _neighbour_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    """The slope of x; where both are the same number the result is y."""
    x, y = inputs
    same = m.eq(x, y)
    return [m.select(same, 0.0, cts[0]), m.select(same, cts[0], 0.0)]


nextafter = Library(
    "nextafter", lambda x, y: x, lambda x, y: np.nextafter(x, y), _neighbour_pull,
    samples=lambda rng: [([rng.normal(size=6).astype(d), rng.normal(size=6).astype(d)], {}) for d in ("f8", "f4")],
)  # fmt: skip
spacing = Library(
    "spacing", lambda x: x, lambda x: np.spacing(x),
    samples=lambda rng: [([rng.normal(size=(2, 3)).astype(d)], {}) for d in ("f8", "f4")],
)  # fmt: skip


def _frexp_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    return [m.ldexp(cts[0], -results[1])]


def _frexp_samples(rng: np.random.Generator) -> Any:
    return [([np.array([0.0, -3.7, 1e-310, 2.0**40, math.inf]).astype(d)], {}) for d in ("f8", "f4")]


frexp = Library(
    "frexp", lambda x: (x, x.with_dtype("i32")), lambda x: np.frexp(x), _frexp_pull, samples=_frexp_samples
)
ldexp = Library(
    "ldexp", lambda x, n: x, lambda x, n: np.ldexp(x, n),
    lambda m, inputs, results, cts: [m.ldexp(cts[0], inputs[1]), None],
    samples=lambda rng: [
        ([rng.normal(size=6).astype(d), rng.integers(-9, 9, 6).astype(n)], {})
        for d in ("f8", "f4") for n in ("i4", "i8")
    ],
)  # fmt: skip


def _divisor(name: str, ufunc: np.ufunc) -> Library:
    def types(x: Type, y: Type) -> Type:
        if x.is_float or x != y:
            raise TypeError(f"{name} takes two integers of one type, got {x} and {y}")
        return x

    def drawn(rng: np.random.Generator) -> Any:
        return [([rng.integers(-30, 30, 8).astype(d), rng.integers(-30, 30, 8).astype(d)], {}) for d in ("i8", "i4")]

    return Library(name, types, lambda x, y: ufunc(x, y), samples=drawn)


gcd, lcm = _divisor("gcd", np.gcd), _divisor("lcm", np.lcm)

__all__ = ["copysign", "fmod", "frexp", "gcd", "lcm", "ldexp", "nextafter", "spacing"]
