"""Sorts, searches, places of extremes, Fourier transforms and eigenvalues, read out, with their gradients, and back."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import sympy as sp

from pullback import grad, jit, lambdify
from pullback.runtime.symbolic.readout.ordered import order_place, order_statistic

four = np.array([0.3, 1.2, -0.7, 0.5])
matrix = np.array([[2.0, 0.3], [0.1, 1.5]])
weights = np.array([1.0, -2.0, 0.5, 3.0])
nodes = np.array([0.0, 1.0, 2.0, 3.0])

FUNCTIONS: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda x: np.sort(x) @ weights, (four,)),
    (lambda x: np.sort(np.reshape(x, (2, 2)) ** 2, axis=0)[1, 0] * x[3], (four,)),
    (lambda x: np.median(x) ** 2, (four,)),
    (lambda x: np.percentile(x, 30.0), (four,)),
    (lambda x: x[np.argsort(x)][1] ** 2, (four,)),
    (lambda x: np.sum(np.sort(x)[:3] ** 2), (np.sin(np.arange(12.0)),)),
    (lambda x: x[np.argmax(x)] * x[np.argmin(x)], (four,)),
    (lambda x: x[np.argmax(np.sin(x))] ** 2, (np.arange(12.0),)),
    (lambda t, x: np.interp(t, nodes, x), (1.3, four)),
    (lambda t, x: np.interp(t, nodes, x), (-1.0, four)),
    (lambda x: np.sum(np.fft.fft(x).real ** 2), (four[:3],)),
    (lambda x: np.sum(np.fft.ifft2(np.reshape(x, (2, 2))).real ** 3), (four,)),
    (lambda x: np.sum(np.fft.irfft(np.fft.rfft(x) * np.array([1, 1j, 2])) ** 3), (four,)),
    (lambda x: np.sum(np.fft.irfft(np.fft.rfft(x)[:2] * 1j, 5) ** 3), (four,)),
    (lambda a: np.sum(np.linalg.eigvalsh(a + a.T) ** 3), (matrix,)),
    (lambda a: np.linalg.norm(a, "nuc") + np.linalg.norm(np.stack([a[0], a[1], a[1]]), 2), (matrix,)),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_there_and_back(number: int) -> None:
    function, given = FUNCTIONS[number]
    for taken in (jit(function), grad(function)):
        made = taken.sympy(*given)
        names = {str(b): b for b in made.atoms(sp.IndexedBase)} if hasattr(made, "atoms") else {}
        names |= {str(s): s for s in made.free_symbols if isinstance(s, sp.Symbol) and str(s) not in names}
        named = zip(inspect.signature(function).parameters, given, strict=True)
        known = [(names[n], x) for n, x in named if n in names]
        back = np.asarray(lambdify([s for s, _ in known], made)(*[x for _, x in known]))
        np.testing.assert_allclose(back, np.reshape(taken(*given), back.shape), rtol=1e-13, atol=1e-14)
        assert "aligned" in taken.latex(*given)


def test_they_are_legible() -> None:
    x: Any = sp.IndexedBase("x", (4,), real=True)
    t: Any = sp.Symbol("t", real=True)
    of = jit(lambda x: np.median(x)).sympy(four)
    second, third = (order_statistic()(k, *[x[j] for j in range(4)]) for k in (1, 2))
    assert of == second / 2 + third / 2
    assert jit(lambda x: np.sort(x)[3]).sympy(four) == sp.Max(*[x[j] for j in range(4)])
    slope = grad(lambda t, x: np.interp(t, nodes, x)).sympy(1.3, four)
    rises = [(x[k + 1] - x[k], t < k + 1 if k < 2 else t <= 3) for k in range(3)]
    assert str(slope) == str(sp.Piecewise((0, t < 0), *rises, (0, True)))

    def branched(x: Any) -> Any:
        if x > 1:
            return np.sin(x)
        return x if x > 0 else -x

    s: Any = sp.Symbol("x", real=True)
    assert jit(branched).sympy(0.5) == sp.Piecewise((sp.sin(s), s > 1), (s, s > 0), (-s, True))


def test_as_functions_of_sympys() -> None:
    a, b, c, k = sp.symbols("a b c k", real=True)
    middle, place = order_statistic()(1, a, b, c), order_place()(1, a, b, c)
    at = {a: 3, b: 1, c: 2}
    assert (middle.subs(at), place.subs(at)) == (2, 2)
    assert [middle.diff(x).subs(at) for x in (a, b, c)] == [0, 0, 1]
    assert place.diff(a) == 0
    assert middle.subs({a: sp.sqrt(2), b: sp.pi, c: sp.E}).evalf(30) == sp.E.evalf(30)
    batch = np.array([[3.0, 1.0], [1.0, 5.0], [2.0, 4.0]])
    np.testing.assert_array_equal(lambdify([a, b, c], middle)(*batch), [2.0, 4.0])
    np.testing.assert_array_equal(lambdify([a, b, c, k], order_place()(k, a, b, c))(*batch, 0.0), [1.0, 0.0])
    assert sp.latex(middle**2) == r"\left(\operatorname{sorted}\left(a, b, c\right)_{1}\right)^{2}"
