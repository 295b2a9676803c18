"""np.polynomial's functions that write into arrays, of traced coefficients: derivatives, integrals, sums, companions.

What is linear in the coefficients is a matrix, which NumPy's own function makes of unit series; what is bilinear, the
product, is a tensor. So all six families have one meaning, with NumPy's coefficients to the last digit but rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import polynomial
from numpy.polynomial import polyutils

from ..array import unknown
from ..patched.recoded import concrete, recode
from .matrices.linalg import as_float
from .reductions import traced

FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
"""A module of np.polynomial -> how the names of its functions begin."""


def _known(name: str, **given: Any) -> None:
    for argument, x in given.items():
        if not concrete(x):
            raise unknown(name, f" with a traced {argument}")


def _rows(c: Any, axis: int) -> Any:
    """Coefficients as floats along the first axis, of which there is at least one."""
    x: Any = as_float(traced(c)[1])
    return np.moveaxis(np.reshape(x, (1,)) if x.ndim == 0 else x, axis, 0)


def _along(matrix: np.ndarray, rows: Any) -> Any:
    return np.tensordot(matrix.astype(rows.dtype), rows, 1)


def _derivative(f: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(c: Any, m: int = 1, scl: Any = 1, axis: int = 0) -> Any:
        _known(f"np.polynomial.{f.__name__}", m=m, scl=scl, axis=axis)
        rows = _rows(c, axis)
        return np.moveaxis(_along(f(np.eye(rows.shape[0]), m, scl), rows), 0, axis)

    return meaning


def _integral(f: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(c: Any, m: int = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: int = 0) -> Any:
        _known(f"np.polynomial.{f.__name__}", m=m, lbnd=lbnd, scl=scl, axis=axis)
        rows, ks = _rows(c, axis), list(k) if isinstance(k, (list, tuple)) or np.iterable(k) else [k]
        if len(ks) > m:
            raise ValueError("Too many integration constants")
        n = rows.shape[0]
        made = _along(f(np.eye(n), m, [], lbnd, scl), rows)
        for j, each in enumerate(ks):
            alone = f(np.zeros(n + 1), m, [0.0] * j + [1.0], lbnd, scl)[: n + m]
            made = made + np.reshape(alone, (-1, *(1,) * (rows.ndim - 1))) * each
        return np.moveaxis(made, 0, axis)

    return meaning


def _companion(f: Callable[..., Any]) -> Callable[..., Any]:
    """It is linear in what the highest coefficient divides."""

    def meaning(c: Any) -> Any:
        (series,) = polyutils.as_series([c])
        n = len(series) - 1
        if n < 1:
            raise ValueError("Series must have maximum degree of at least 1.")
        base = f(np.append(np.zeros(n), 1.0))
        turns = np.stack([f(np.append(unit, 1.0)) - base for unit in np.eye(n)], axis=-1)
        return base + turns @ (series[:-1] / series[-1])

    return meaning


def _product(f: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(c1: Any, c2: Any) -> Any:
        a, b = polyutils.as_series([c1, c2])
        m, n = len(a), len(b)
        table = np.zeros((m + n - 1, m, n))
        for i, j in np.ndindex(m, n):
            made = f(np.eye(m)[i], np.eye(n)[j])
            table[: len(made), i, j] = made
        return polyutils.trimseq((table @ b) @ a)

    return meaning


def _roots(companion: Callable[..., Any]) -> Callable[..., Any]:
    """Eigenvalues of the companion matrix, turned about as NumPy's, in order of their real parts."""

    def meaning(c: Any) -> Any:
        (series,) = polyutils.as_series([c])
        if len(series) < 2:
            return np.array([], dtype=series.dtype)
        found = np.linalg.eigvals(_companion(companion)(series)[::-1, ::-1])
        return found[np.lexsort((np.imag(found), np.real(found)))]

    return meaning


def _converted(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same polynomial in another basis."""

    def meaning(c: Any) -> Any:
        (series,) = polyutils.as_series([c])
        n = len(series)
        table = np.zeros((n, n))
        for k, unit in enumerate(np.eye(n)):
            made = f(unit)
            table[: len(made), k] = made
        return table @ series

    return meaning


def _vander(value: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(x: Any, deg: Any) -> Any:
        _known("np.polynomial", deg=deg)
        if deg < 0:
            raise ValueError("deg must be non-negative")
        at = np.atleast_1d(as_float(traced(x)[1]))
        return np.stack([value(at, unit) + 0.0 * at for unit in np.eye(int(deg) + 1)], axis=-1)

    return meaning


def _sum(sign: float) -> Callable[..., Any]:
    def meaning(c1: Any, c2: Any) -> Any:
        a, b = polyutils.as_series([c1, c2])
        n = max(len(a), len(b))
        a, b = (np.concatenate([x, np.zeros(n - len(x))]) for x in (a, b))
        return polyutils.trimseq(a + sign * b)

    return meaning


def _quotient(c1: Any, c2: Any) -> Any:
    """Long division, from the highest power down."""
    a, b = polyutils.as_series([c1, c2])
    if b[-1] == 0:
        raise ZeroDivisionError
    rest, n = [a[k] for k in range(len(a))], len(b)
    if len(rest) < n:
        return a[:1] * 0, a
    made = []
    for start in range(len(rest) - n, -1, -1):
        made.append(rest[start + n - 1] / b[-1])
        rest[start : start + n] = [rest[start + k] - made[-1] * b[k] for k in range(n)]
    return np.stack(made[::-1]), polyutils.trimseq(np.stack(rest[: n - 1])) if n > 1 else a[:1] * 0


def _chebyshev_power(c: Any, pow: Any, maxpower: Any = 16) -> Any:
    """By products, as that of other series; NumPy's own works on their Fourier coefficients in place."""
    (series,) = polyutils.as_series([c])
    power = int(pow)
    if power != pow or power < 0:
        raise ValueError("Power must be a non-negative integer.")
    if maxpower is not None and power > maxpower:
        raise ValueError("Power is too large")
    made = np.array([1.0])
    for _ in range(power):
        made = polynomial.chebyshev.chebmul(made, series)
    return made


recode("numpy.polynomial.polyutils", {"_add": _sum(1.0), "_sub": _sum(-1.0)})
recode("numpy.polynomial.polynomial", {"polydiv": _quotient})
recode("numpy.polynomial.chebyshev", {"chebpow": _chebyshev_power})
for _module, _name in FAMILIES.items():
    _space: Any = getattr(polynomial, _module)
    recode(f"numpy.polynomial.{_module}", {
        f"{_name}{each}": meaning(getattr(_space, _name + (other or each)))
        for each, meaning, other in (
            ("der", _derivative, ""), ("int", _integral, ""), ("companion", _companion, ""), ("vander", _vander, "val"),
            ("roots", _roots, "companion"),
        )
    })  # fmt: skip
    if _module != "polynomial":
        recode(f"numpy.polynomial.{_module}", {
            f"{_name}mul": _product(getattr(_space, f"{_name}mul")),
            **{each: _converted(getattr(_space, each)) for each in (f"{_name}2poly", f"poly2{_name}")},
        })  # fmt: skip

__all__ = ["FAMILIES"]
