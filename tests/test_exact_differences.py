"""`check(..., method="mpmath")`: gradients against differences of the same graph in numbers of sixty digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from sympy.core.evalf import mp

import pullback.runtime.check as checks
from pullback import check
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ops.elementwise import Elementwise
from pullback.runtime.derivatives.exact import exact_values

FORMULAS = [each for each in REGISTRY.values() if isinstance(each, Elementwise) and "f64" in each.kinds]


@pytest.mark.parametrize("prim", FORMULAS, ids=lambda each: each.name)
def test_formulas_are_numpys(prim: Elementwise, rng: np.random.Generator) -> None:
    for args, _ in prim.samples(rng):
        if args[0].dtype == np.float64:
            with mp.workdps(60):
                made = exact_values(mp, prim, args)
            np.testing.assert_allclose(made.astype(float), prim.evaluate(args, {}, ())[0].astype(float), rtol=1e-14)


def _while(x: Any) -> Any:
    y = x
    while y < 10:
        y = y * 1.7 + x * x
    return y


def _rounds(x: Any) -> Any:
    y = x
    for _ in range(20):
        y = np.sin(y) * 0.4 * x[::-1]
    return np.sum(y)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a power": (lambda x: x**2.5, (1.3,)),
    "special functions": (lambda x: np.sum(sp.gammaln(x) * sp.i0e(x) + sp.erfcx(x)), (np.linspace(0.5, 3, 4),)),
    "products": (lambda x, w: np.sum(np.tanh(x @ w) ** 2) + np.max(x), (np.arange(6.0).reshape(2, 3) / 5, np.ones(3))),
    "rearranged": (lambda x: np.sum(np.where(x > 1, np.sqrt(x), x[::-1]) * x[[1, 2, 0]]), (np.array([0.5, 1.5, 2.0]),)),
    "a branch": (lambda x: np.sin(x) if x > 0 else x * x, (0.3,)),
    "a loop of unknown length": (_while, (0.3,)),
    "rounds": (_rounds, (np.arange(1.0, 4.0),)),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_within_a_few_ulps(name: str, order: int) -> None:
    function, args = PROGRAMS[name]
    report = check(function, *args, order=order, method="mpmath", rtol=1e-14, atol=0.0)
    assert report.method == "mpmath" and report.elements == order * sum(np.size(a) for a in args)
    assert "elements agree with mpmath" in str(report)


def test_it_tells_differences_that_others_do_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    function = lambda x: x**2.5  # noqa: E731
    known = checks._traced
    near = lambda x: x**2.5 * (1 + 1e-9)  # noqa: E731
    monkeypatch.setattr(checks, "_traced", lambda scalar, *rest: known(near, *rest))
    assert check(function, 1.3).method == "central differences"
    with pytest.raises(AssertionError, match=r"the gradient for x is .*, mpmath gives .* apart"):
        check(function, 1.3, method="mpmath", rtol=1e-12, atol=0.0)


def test_what_it_has_no_meaning_for_is_told() -> None:
    with pytest.raises(NotImplementedError, match=r"mpmath has no meaning for det at test_exact.*leave method out"):
        check(lambda x: np.linalg.det(x), np.eye(3) + 0.1, method="mpmath")
    with pytest.raises(NotImplementedError, match="the complex step has no meaning for lgamma"):
        check(sp.gammaln, 1.5, method="complex step")
    with pytest.raises(ValueError, match="method is 'forward', expected None or one of 'complex step', 'central diff"):
        check(np.sin, 1.5, method="forward")
