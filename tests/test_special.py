"""Special functions: values against SciPy and mpmath, native as NumPy's, and derivatives to second order."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as S

import pullback as torch
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, Graph, evaluate, inline
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.scipy import slope_tables, special_tables
from pullback.compiler.ops.source import number
from pullback.compiler.passes import adjoint
from tests.tools import fit_slopes, fit_special

RNG = np.random.default_rng(5)
REAL = np.concatenate([RNG.normal(size=300) * 3, RNG.uniform(-25, 30, 200), [0.0, 0.5, -0.5, 1e-300, 8.0, -8.0]])
UNIT = np.concatenate([RNG.random(300), 10.0 ** -RNG.uniform(0, 300, 100), [0.075, 0.5, 0.925, 1e-320]])
EDGES = [0.5, 1.0, 1.5, 2.0, 2.5, 8.0]
POSITIVE = np.concatenate([RNG.uniform(0.01, 12, 300), 10.0 ** RNG.uniform(-200, 200, 100), EDGES])
NEGATIVE = -RNG.uniform(0.01, 30, 200)

Case = tuple[str, Callable[..., Any], np.ndarray, float, dict[str, int]]
CASES: list[Case] = [
    ("erfc", S.erfc, REAL[REAL < 25], 2e-13, {}),
    ("erfcx", S.erfcx, REAL, 2e-13, {}),
    ("erfinv", S.erfinv, np.concatenate([UNIT, -UNIT]), 4e-15, {}),
    ("ndtri", S.ndtri, UNIT, 4e-15, {}),
    ("log_ndtr", S.log_ndtr, REAL[REAL < 25], 2e-13, {}),
    ("lgamma", S.gammaln, np.concatenate([POSITIVE, NEGATIVE]), 2e-14, {}),
    ("polygamma", S.digamma, np.concatenate([POSITIVE, NEGATIVE]), 2e-12, {"n": 0}),
    *(("polygamma", lambda x, n=n: S.polygamma(n, x), POSITIVE[:250], 2e-14, {"n": n}) for n in (1, 2, 5)),
    ("i0", S.i0, REAL, 4e-15, {}),
    ("i0e", S.i0e, REAL, 4e-15, {}),
    ("i1", S.i1, REAL, 8e-15, {}),
    ("i1e", S.i1e, REAL, 8e-15, {}),
    ("bessel_j0", S.j0, REAL, 1e-9, {}),
    ("bessel_j1", S.j1, REAL, 1e-9, {}),
    ("bessel_y0", S.y0, np.abs(REAL[:500]), 1e-9, {}),
    ("bessel_y1", S.y1, np.abs(REAL[:500]), 1e-9, {}),
    ("entr", S.entr, REAL, 1e-15, {}),
    ("modified_bessel_k0", S.k0, np.abs(REAL), 4e-15, {}),
    ("modified_bessel_k1", S.k1, np.abs(REAL), 4e-15, {}),
    ("scaled_modified_bessel_k0", S.k0e, np.abs(REAL), 4e-15, {}),
    ("scaled_modified_bessel_k1", S.k1e, np.abs(REAL), 4e-15, {}),
]
IDS = [f"{name}{attrs.get('n', '')}" for name, *_, attrs in CASES]


def graph_of(name: str, *arrays: np.ndarray, **attrs: Any) -> Graph:
    b = Builder(name, [Type("f32" if a.dtype == np.float32 else "f64", a.shape) for a in arrays])
    return b.finish(b.emit(REGISTRY[name], *b.params, **attrs))


@pytest.mark.parametrize(("name", "wanted", "x", "bound", "attrs"), CASES, ids=IDS)
def test_values(name: str, wanted: Callable[..., Any], x: np.ndarray, bound: float, attrs: dict[str, int]) -> None:
    graph = graph_of(name, x, **attrs)
    (meaning,), (native,) = evaluate(graph, [x]), compile_graph(graph).run([x])
    with np.errstate(all="ignore"):
        want = wanted(x)
    sure = np.isfinite(want) & (np.abs(want) < 1e300)
    np.testing.assert_allclose(meaning[sure], want[sure], rtol=bound, atol=2e-15)
    np.testing.assert_allclose(native[sure], meaning[sure], rtol=1e-14, atol=2e-15)
    with np.errstate(all="ignore"):
        rounded = x[: len(x) // 2].astype(np.float32)
    (single,) = compile_graph(graph_of(name, rounded, **attrs)).run([rounded])
    with np.errstate(all="ignore"):
        want = wanted(rounded.astype(np.float64)).astype(np.float32)
    sure = np.isfinite(want)
    np.testing.assert_allclose(single[sure], want[sure], rtol=2e-7, atol=1e-38)


@pytest.mark.parametrize("name", ["erfc", "erfcx", "lgamma", "i0e", "bessel_j0", "erfinv"])
def test_values_to_more_digits(name: str) -> None:
    """Where SciPy itself is off by more: mpmath's."""
    exact: dict[str, Callable[[Any], Any]] = {
        "erfc": mpmath.erfc, "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x), "lgamma": mpmath.loggamma,
        "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), "bessel_j0": lambda x: mpmath.besselj(0, x),
        "erfinv": mpmath.erfinv,
    }  # fmt: skip
    x = {"lgamma": np.array([1e-9, 0.9, 1.1, 1.9, 2.1, 30.0, 1e6]), "erfinv": np.array([0.1, 0.84, 0.86, 0.9999999])}
    points = x.get(name, np.array([0.4, 0.6, 3.3, 7.9, 8.1, 20.0, 24.5]))
    with mpmath.workdps(40):
        want = np.array([float(mpmath.re(exact[name](mpmath.mpf(float(v))))) for v in points])
    (made,) = evaluate(graph_of(name, points), [points])
    np.testing.assert_allclose(made, want, rtol=4e-15, atol=1e-16)


SMOOTH = {
    "erfc": (-2, 3), "erfcx": (-1, 4), "erfinv": (-0.9, 0.9), "ndtri": (0.1, 0.9), "log_ndtr": (-4, 3),
    "lgamma": (0.3, 9), "i0": (-3, 3), "i0e": (0.2, 3), "i1": (-3, 3), "i1e": (0.2, 3), "bessel_j0": (0.5, 12),
    "bessel_j1": (0.5, 12), "bessel_y0": (0.5, 12), "bessel_y1": (0.5, 12), "entr": (0.2, 3),
    "modified_bessel_k0": (0.4, 4), "modified_bessel_k1": (0.4, 4),
    "scaled_modified_bessel_k0": (0.4, 4), "scaled_modified_bessel_k1": (0.4, 4),
}  # fmt: skip


def slopes(graph: Graph, x: np.ndarray) -> np.ndarray:
    """By differences of a high order."""
    h = 1e-3
    f = [evaluate(graph, [x + k * h])[0] for k in (-3, -2, -1, 1, 2, 3)]
    return np.dot(np.array([-1, 9, -45, 45, -9, 1]) / (60 * h), np.array(f))


@pytest.mark.parametrize("name", [*SMOOTH, "polygamma"])
def test_derivatives_to_second_order(name: str) -> None:
    low, high = SMOOTH.get(name, (0.5, 9))
    x, attrs = np.linspace(low, high, 23), {"n": 1} if name == "polygamma" else {}
    graph = graph_of(name, x, **attrs)
    first = adjoint(graph, (0,))
    ones = np.ones_like(x)
    (_, got) = compile_graph(first).run([x, ones])
    np.testing.assert_allclose(got, slopes(graph, x), rtol=2e-9, atol=2e-10)
    second = adjoint(first, (0,))
    zeros = np.zeros_like(x)
    *_, got = compile_graph(second).run([x, ones, zeros, ones])
    derivative = graph_from_first(first, x)
    np.testing.assert_allclose(got, slopes(derivative, x), rtol=2e-8, atol=2e-9)


def graph_from_first(first: Graph, x: np.ndarray) -> Graph:
    """The derivative as a function of x alone."""
    b = Builder("slope", [Type("f64", x.shape)])
    made = inline(first, b, [b.params[0], number(b, 1, b.params[0].type)])
    return b.finish([made[1]])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", ["erfcx", "dawson", "i0e", "i1e", "k0e"])
def test_derivatives_of_any_order(name: str, n: int) -> None:
    """To the last digits up to the second, on both sides of each seam; further ones cancel somewhat."""
    x = np.array([1e-3, 0.3, 0.97, 1.05, 1.9, 3.1, 4.99, 5.01, 7.9, 8.1, 20.0])
    x = np.concatenate([x, -x[:6]]) if name == "erfcx" else x
    prim, exact = name if name == "dawson" else f"{name}_derivative", getattr(fit_slopes, f"{name}_derivative")
    with mpmath.workdps(50):
        of = [[float(exact(k, mpmath.mpf(v))) for v in x.tolist()] for k in (n, n + 1)]
    want, bend = np.array(of) * [[(-1) ** n], [(-1) ** (n + 1)]] if name in ("i0e", "k0e") else np.array(of)
    graph = graph_of(prim, x, n=n)
    whole = np.abs(want) + np.abs(x * bend)
    bound = 4 * 2.0**-52 if n < 3 else 3e-8
    (meaning,) = evaluate(graph, [x])
    for made in (meaning, compile_graph(graph).run([x])[0]):
        assert (np.abs(made - want) / whole).max() < bound
    (single,) = compile_graph(graph_of(prim, x.astype("f4"), n=n)).run([x.astype("f4")])
    assert (np.abs(single - want) / whole).max() < 4e-7
    if name in ("dawson", "i0e", "i1e"):
        (mirrored,) = evaluate(graph, [-x])
        sign = (-1) ** (n + (name in ("dawson", "i1e")))
        np.testing.assert_array_equal(mirrored, sign * meaning)


def test_ends_and_poles() -> None:
    inf, nan = math.inf, math.nan
    tables: dict[str, list[tuple[float, float]]] = {
        "lgamma": [(0.0, inf), (-3.0, inf), (inf, inf), (-inf, inf), (nan, nan), (1.0, 0.0), (2.0, 0.0)],
        "erfinv": [(1.0, inf), (-1.0, -inf), (2.0, nan), (0.0, 0.0), (nan, nan)],
        "ndtri": [(0.0, -inf), (1.0, inf), (-0.5, nan), (0.5, 0.0)],
        "erfc": [(inf, 0.0), (-inf, 2.0), (nan, nan)],
        "erfcx": [(inf, 0.0), (-inf, inf), (nan, nan)],
        "entr": [(0.0, 0.0), (-1.0, -inf), (nan, nan)],
        "i0e": [(0.0, 1.0), (inf, 0.0), (nan, nan)],
        "erfi": [(0.0, 0.0), (inf, inf), (-inf, -inf), (nan, nan)],
        "dawson": [(inf, 0.0), (-inf, 0.0), (nan, nan)],
        "i1e_derivative": [(inf, 0.0), (-inf, 0.0), (nan, nan)],
        "erfcx_derivative": [(inf, 0.0), (-inf, -inf), (nan, nan)],
        "i0e_derivative": [(0.0, 0.0), (inf, 0.0), (-inf, 0.0), (nan, nan)],
        "k0e_derivative": [(0.0, -inf), (-1.0, nan), (inf, 0.0), (nan, nan)],
        "bessel_y0": [(0.0, -inf), (-1.0, nan)],
    }
    for name, pairs in tables.items():
        x, want = np.array(pairs).T.copy()
        graph = graph_of(name, x, **({"n": 1} if name == "dawson" or name.endswith("derivative") else {}))
        for made in (evaluate(graph, [x])[0], compile_graph(graph).run([x])[0]):
            np.testing.assert_array_equal(made, want, name)
    x = np.array([0.0, -0.0, -1.0, -7.0])
    np.testing.assert_array_equal(evaluate(graph_of("polygamma", x, n=0), [x])[0], [-inf, inf, nan, nan])


@pytest.mark.parametrize("name", ["lgamma", "polygamma"])
def test_gammaln_and_digamma_to_the_last_digits(name: str) -> None:
    """Within 6 ulp on both sides of each seam, near the roots of the logarithm, and of tiny and huge arguments."""
    seams = np.concatenate([[v, np.nextafter(v, 0), np.nextafter(v, 9)] for v in (0.5, 1.5, 2.5, 3.5, 4.5)])
    small = 10.0 ** -np.linspace(1, 15, 29)
    x = np.concatenate([seams, 1 + small, 1 - small, 2 + small, 2 - small, np.linspace(2.6, 30, 99),
                        10.0 ** np.linspace(2, 305), [1e-300, 3e-310, 1e-5], -small])  # fmt: skip
    x, attrs = (x, {}) if name == "lgamma" else (x[x > 1e-308], {"n": 0})
    graph, exact = graph_of(name, x, **attrs), mpmath.digamma if attrs else lambda v: mpmath.log(abs(mpmath.gamma(v)))
    with mpmath.workdps(330):
        want = [(mpmath.loggamma if v > 1e4 and not attrs else exact)(mpmath.mpf(float(v))) for v in x]
        for made in (evaluate(graph, [x])[0], compile_graph(graph).run([x])[0]):
            off = [abs(g - w) / np.spacing(abs(float(w))) for g, w in zip(made, want, strict=True)]
            assert max(off) < 6, x[int(np.argmax(off))]


def test_reflections() -> None:
    """Polygamma functions of negative numbers, by mpmath."""
    x = np.array([-0.25, -1.6, -7.3])
    for n in (1, 2, 3):
        (made,) = evaluate(graph_of("polygamma", x, n=n), [x])
        want = [float(mpmath.psi(n, float(v))) for v in x]
        np.testing.assert_allclose(made, want, rtol=1e-12)


def test_products_with_logarithms() -> None:
    x, y = np.array([0.0, 0.0, 2.0, 0.0, 3.0]), np.array([0.0, 5.0, 4.0, np.nan, -0.5])
    for name, wanted in (("xlogy", S.xlogy), ("xlog1py", S.xlog1py)):
        graph = graph_of(name, x, y)
        with np.errstate(all="ignore"):
            want = wanted(x, y)
        np.testing.assert_allclose(evaluate(graph, [x, y])[0], want, rtol=1e-15)
        np.testing.assert_allclose(compile_graph(graph).run([x, y])[0], want, rtol=4e-15)


def test_incomplete_gamma_functions() -> None:
    rng = np.random.default_rng(3)
    a = np.concatenate([rng.uniform(0.01, 50, 200), 10.0 ** rng.uniform(2, 6, 200)])
    x = a * rng.uniform(0.5, 1.6, a.size)
    for name, wanted in (("gammainc", S.gammainc), ("gammaincc", S.gammaincc)):
        (made,) = evaluate(graph_of(name, a, x), [a, x])
        np.testing.assert_allclose(made, wanted(a, x), rtol=1e-10, atol=1e-12)
    ends = np.array([[0.0, 1.0], [2.0, 0.0], [2.0, math.inf], [-1.0, 1.0], [1.0, -1.0], [math.inf, 1.0], [0.0, 0.0]]).T
    np.testing.assert_array_equal(evaluate(graph_of("gammainc", *ends), list(ends))[0], S.gammainc(*ends))


def test_zeta() -> None:
    rng = np.random.default_rng(3)
    s, q = rng.uniform(1.01, 30, 300), 10.0 ** rng.uniform(-3, 3, 300)
    np.testing.assert_allclose(evaluate(graph_of("zeta", s, q), [s, q])[0], S.zeta(s, q), rtol=1e-13)
    s, q = np.array([2.0, 3.0, 2.0, 2.5, 1.0, 0.5]), np.array([-1.5, -2.5, 0.0, -1.5, 1.0, 2.0])
    want = [float(mpmath.zeta(2, -1.5)), float(mpmath.zeta(3, -2.5)), math.inf, math.nan, math.inf, math.nan]
    np.testing.assert_allclose(evaluate(graph_of("zeta", s, q), [s, q])[0], want, rtol=1e-13)


def test_orthogonal_polynomials() -> None:
    x, n = np.linspace(-1.5, 1.5, 13), np.arange(13) % 9 - 1.0
    wanted = {
        "chebyshev_polynomial_t": S.eval_chebyt, "chebyshev_polynomial_u": S.eval_chebyu,
        "hermite_polynomial_h": S.eval_hermite, "hermite_polynomial_he": S.eval_hermitenorm,
        "laguerre_polynomial_l": S.eval_laguerre, "legendre_polynomial_p": S.eval_legendre,
        "shifted_chebyshev_polynomial_t": S.eval_sh_chebyt, "shifted_chebyshev_polynomial_u": S.eval_sh_chebyu,
    }  # fmt: skip
    for name, function in wanted.items():
        made = getattr(torch.special, name)(torch.tensor(x), torch.tensor(n)).numpy()
        want = np.where(n < 0, 0, function(np.maximum(n, 0).astype(int), x))
        np.testing.assert_allclose(made, want, rtol=1e-12, atol=1e-12, err_msg=name)


def test_what_has_no_derivative_is_refused() -> None:
    a = torch.tensor([2.0], requires_grad=True)
    made = torch.special.gammainc(a, torch.tensor([1.0]))
    with pytest.raises(TypeError, match="igamma with respect to its first argument"):
        made.backward()
        assert a.grad is not None and a.grad.item()


def test_tensors_of_special_functions_are_one_kernel() -> None:
    """Three rounds: cold, compiled, replayed."""
    found = []
    for _ in range(3):
        x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
        y = (torch.lgamma(x) * torch.special.i0e(x) + torch.special.zeta(2.0, x)).sum()
        y.backward()
        assert x.grad is not None
        found.append((y.item(), x.grad.tolist()))
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-13)
    assert found[1] == found[2]


def test_lanes() -> None:
    x = torch.tensor([[0.5, 1.5], [2.5, 3.5]], dtype=torch.float64)
    made = torch.func.vmap(lambda v: torch.special.gammainc(v, v) + torch.digamma(v))(x)
    assert torch.allclose(made, torch.special.gammainc(x, x) + torch.digamma(x), rtol=1e-13)


def test_tables_are_those_of_the_tool() -> None:
    rows = [*fit_special.TABLES, *fit_special.POWERS, *fit_slopes.TABLES]
    tables = {**vars(special_tables), **vars(slope_tables)}
    assert sorted(n for n in tables if n.isupper()) == sorted(name for name, *_ in rows)
    with mpmath.workdps(50):
        for name, _, *fitted in rows:
            if name in ("GAMMA", "I0", "P1", "LOG_GAMMA", "COSINE", "DAWSON_1", "K0E_2"):
                fit = fit_special.powers if name in ("LOG_GAMMA", "COSINE") else fit_special.chebyshev
                assert tuple(fit(*fitted)) == tables[name], name
