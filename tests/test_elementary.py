"""The elementary functions against mpmath in units in the last place, and against NumPy at special
values, in both formats, in scalars and vectors, on processors with and without the fused
multiply-add."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

from pullback.compiler.backend import processor
from pullback.compiler.backend.elementary import FUNCTIONS, PAIRED, coefficients
from pullback.compiler.backend.text.registers import Reg
from pullback.compiler.backend.text.writer import Writer
from tests.compare import assert_same
from tests.native import DTYPES, Host, Mapped
from tests.tools import fit_coefficients
from tests.ulps import exact

Points = dict[str, tuple[float, float]]
WIDTHS = (1, 8, 16)


class Case(NamedTuple):
    """What a function computes, to how many units, where it is neither 0, 1 nor infinite, and
    numbers at which its code does something else."""

    exact: Callable[..., Any]
    meaning: Callable[[np.ndarray], np.ndarray]
    units: float
    f64: tuple[float, float]
    f32: tuple[float, float]
    borders: tuple[float, ...] = ()


def erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x], x.dtype)


def cube_root(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def sech2(x: np.ndarray) -> np.ndarray:
    e = np.exp(-2 * np.abs(x).astype(np.longdouble))
    return (4 * e / (1 + e) ** 2).astype(x.dtype)


HALF_LOG = 0.34657359027997264
CASES = {
    "exp": Case(mpmath.exp, np.exp, 2, (-746, 710), (-104, 89), (HALF_LOG, 710, 745.2, 88.8, 104)),
    "expm1": Case(mpmath.expm1, np.expm1, 2, (-40, 710), (-20, 89), (0.34, HALF_LOG, 709.5, 88.5)),
    "log": Case(mpmath.log, np.log, 2, (0.5, 2), (0.5, 2), (2**0.5, 2.0**-1022, 2.0**-126)),
    "log1p": Case(
        mpmath.log1p, np.log1p, 2, (-1, 2), (-1, 2), (2**0.5 - 1, 0.5**0.5 - 1, 1, 2**53),
    ),
    "tanh": Case(mpmath.tanh, np.tanh, 2, (-22, 22), (-10, 10), (HALF_LOG / 2, 18.8, 9.1)),
    "sech2": Case(
        lambda x: mpmath.sech(x) ** 2,
        sech2,
        4, (-375, 375), (-53, 53), (HALF_LOG / 2, 372.5, 354),
    ),
    "sigmoid": Case(
        lambda x: 1 / (1 + mpmath.exp(-x)), lambda x: 1 / (1 + np.exp(-x)), 4,
        (-746, 40), (-104, 20), (HALF_LOG, -708.5, -745.2),
    ),
    "softplus": Case(
        lambda x: mpmath.log1p(mpmath.exp(x)), lambda x: np.logaddexp(x.dtype.type(0), x), 4,
        (-746, 40), (-104, 20), (HALF_LOG, -708.5, -745.2),
    ),
    "gauss": Case(
        lambda x: mpmath.exp(-x * x), lambda x: np.exp(-np.square(np.clip(x, -1e9, 1e9))), 4,
        (-27.4, 27.4), (-10.3, 10.3), (27.3, 28, 10.2, 10.5),
    ),
    "erf": Case(mpmath.erf, erf, 2, (-6, 6), (-4, 4), (1, 6)),
    "sin": Case(mpmath.sin, np.sin, 2, (-1000, 1000), (-1000, 1000), (math.pi / 4, 2**30, 2**20)),
    "cos": Case(mpmath.cos, np.cos, 2, (-1000, 1000), (-1000, 1000), (math.pi / 4, 2**30, 2**20)),
    "tan": Case(mpmath.tan, np.tan, 2, (-1000, 1000), (-1000, 1000), (math.pi / 4, 2**30)),
    "arctan": Case(mpmath.atan, np.arctan, 2, (-9, 9), (-9, 9), (2**0.5 - 1, 2**0.5 + 1, 1, 2**100)),
    "arcsin": Case(mpmath.asin, np.arcsin, 2, (-1, 1), (-1, 1), (0.5, 1)),
    "arccos": Case(mpmath.acos, np.arccos, 2, (-1, 1), (-1, 1), (0.5, 1)),
    "sinh": Case(mpmath.sinh, np.sinh, 2, (-711, 711), (-90, 90), (1, 710.4, 711, 89.4)),
    "cosh": Case(mpmath.cosh, np.cosh, 2, (-711, 711), (-90, 90), (1, 710.4, 711, 89.4)),
    "exp2": Case(lambda x: mpmath.power(2, x), np.exp2, 2, (-1080, 1025), (-151, 129), (0.5, 1, 1074)),
    "log2": Case(lambda x: mpmath.log(x, 2), np.log2, 2, (0.5, 2), (0.5, 2), (2**0.5, 8)),
    "log10": Case(mpmath.log10, np.log10, 2, (0.5, 2), (0.5, 2), (2**0.5, 1000)),
    "cbrt": Case(cube_root, np.cbrt, 2, (-9, 9), (-9, 9), (8, 2.0**-600)),
}  # fmt: skip
PAIRS = {"pow": (mpmath.power, np.power, 4), "arctan2": (mpmath.atan2, np.arctan2, 2)}
DOMAIN = {
    **dict.fromkeys(("log", "log2", "log10"), (0, np.inf)),
    **dict.fromkeys(("arcsin", "arccos"), (-1, 1)),
    "log1p": (-1, np.inf),
}


@pytest.fixture(scope="module", params=["fused", "plain"])
def host(request: pytest.FixtureRequest) -> Host:
    return Host(fma=request.param == "fused")


def random_bits(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Finite numbers of all magnitudes, denormal ones among them."""
    kind = DTYPES[dtype]
    values = np.frombuffer(rng.bytes(kind.itemsize * count), kind)
    tiny = rng.uniform(-1, 1, count // 4) * float(np.finfo(kind).tiny)
    values = np.concatenate([values, tiny.astype(kind)])
    return values[np.isfinite(values)]


def neighbours(values: np.ndarray) -> np.ndarray:
    """The numbers, those next to them, and all their opposites."""
    inf = values.dtype.type(np.inf)
    near = [values, np.nextafter(values, inf), np.nextafter(values, -inf)]
    return np.concatenate([*near, *(-each for each in near)])


def points(name: str, dtype: str) -> np.ndarray:
    """Where a function is measured."""
    rng, case, kind = np.random.default_rng(7), CASES[name], DTYPES[dtype]
    low, high = case.f64 if dtype == "f64" else case.f32
    logs = rng.choice([-1.0, 1.0], 800) * 2.0 ** rng.uniform(-40, 10, 800)
    some = [rng.uniform(low, high, 1500), rng.uniform(-2, 2, 700), logs]
    if name in ("sin", "cos", "tan"):
        multiples = rng.integers(0, 2**29 if dtype == "f64" else 2**19, 800) * (math.pi / 2)
        some += [multiples, np.arange(12) * (math.pi / 2), np.arange(12) * (math.pi / 4)]
    if name in ("log", "log2", "log10"):
        some += [1 + logs[np.abs(logs) < 0.5], neighbours(np.ones(1, kind))]
    info = np.finfo(kind)
    limits = (info.max, info.tiny, info.smallest_subnormal, info.eps)
    with np.errstate(over="ignore"):
        borders = np.array([v for v in (*case.borders, *limits) if v <= info.max], kind)
        values = np.concatenate([*(each.astype(kind) for each in some), neighbours(borders)])
    values = np.concatenate([values, random_bits(rng, dtype, 800)])
    low, high = DOMAIN.get(name, (-np.inf, np.inf))
    inside = (values >= low) & (values <= high)
    with np.errstate(all="ignore"):
        pole = inside & np.isinf(case.meaning(values)) & (values == low)
    return values[np.isfinite(values) & inside & ~pole]


def measure(hosts_args: tuple[Host, tuple[np.ndarray, ...]], name: str, dtype: str) -> np.ndarray:
    """The results, which must be the same bits in vectors of every width."""
    host, args = hosts_args
    inputs = [dtype] * len(args)
    results = [Mapped(host, FUNCTIONS[name], inputs, [dtype], w)(*args)[0] for w in WIDTHS]
    for other in results[1:]:
        assert_same([other], [results[0]])
    return results[0]


_references: dict[tuple[str, str], tuple[tuple[np.ndarray, ...], Any]] = {}


def reference(name: str, dtype: str) -> tuple[tuple[np.ndarray, ...], Any]:
    """Arguments and exact values, computed once for all processors."""
    key = name, dtype
    if key not in _references:
        args = pairs(dtype) if name in PAIRS else (points(name, dtype),)
        meaning = PAIRS[name][0] if name in PAIRS else CASES[name].exact
        _references[key] = args, exact(meaning, args, dtype)
    return _references[key]


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Bases and exponents whose powers can be written, and some whose powers can't."""
    rng, kind = np.random.default_rng(8), DTYPES[dtype]
    reach, steps = (745, 50) if dtype == "f64" else (104, 22)
    wide = np.exp(rng.uniform(-reach, 0.84 * reach, 400) * 0.95)
    close = 1 + rng.choice([-1.0, 1.0], 400) * 2.0 ** -rng.uniform(1, steps, 400)
    x = np.concatenate([wide, close]).astype(kind)
    y = (rng.uniform(-1.1 * reach, 1.1 * reach, 800) / np.log(x.astype(np.float64))).astype(kind)
    negative, whole = -rng.uniform(0, 40, 300).astype(kind), rng.integers(-30, 30, 300).astype(kind)
    x = np.concatenate([x, negative, rng.uniform(0, 4, 300).astype(kind)])
    y = np.concatenate([y, whole, rng.uniform(-20, 20, 300).astype(kind)])
    useful = np.isfinite(x) & np.isfinite(y) & (x != 0)
    return x[useful], y[useful]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", [*CASES, *PAIRS])
def test_units_in_the_last_place(host: Host, name: str, dtype: str) -> None:
    args, wanted = reference(name, dtype)
    got = measure((host, args), name, dtype)
    off = wanted.distance(got)
    worst = int(np.argmax(off))
    where = [a[worst].item() for a in args]
    allowed = PAIRS[name][2] if name in PAIRS else CASES[name].units
    assert off[worst] <= allowed, f"{name}{where} is {got[worst]!r}, off by {off[worst]:.2f} units"


def special_values(dtype: str) -> np.ndarray:
    info = np.finfo(DTYPES[dtype])
    positive = [0, 0.5, 1, 1.5, 2, 3, 7, 1 - info.epsneg, 1 + info.eps, info.eps, 1e6, 2e9]
    positive += [2.0**24 - 1, 2.0**24, 1e22, info.max, info.tiny, info.smallest_subnormal, np.inf]
    values = np.array([*positive, np.nan], DTYPES[dtype])
    return np.concatenate([values, -values])


def assert_like_numpy(got: np.ndarray, want: np.ndarray, shown: np.ndarray) -> None:
    """Special results and signs exactly, others to a few units."""
    info = np.finfo(want.dtype)
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= 8 * info.eps * np.abs(want) + 4 * info.smallest_subnormal
    special = (want == 0) | ~np.isfinite(want)
    good = np.where(special, got == want, near) & (np.signbit(got) == np.signbit(want))
    wrong = np.flatnonzero(~(good | (np.isnan(got) & np.isnan(want))))
    assert not len(wrong), [(shown[i], got[i], want[i]) for i in wrong[:5]]


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", CASES)
def test_special_values(host: Host, name: str, dtype: str) -> None:
    x = special_values(dtype)
    with np.errstate(all="ignore"):
        want = CASES[name].meaning(x)
    assert_like_numpy(measure((host, (x,)), name, dtype), want, x)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", PAIRS)
def test_special_pairs(host: Host, name: str, dtype: str) -> None:
    values = special_values(dtype)
    both = np.array(list(itertools.product(values, values)), values.dtype)
    x, y = np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])
    with np.errstate(all="ignore"):
        want = PAIRS[name][1](x, y)
    assert_like_numpy(measure((host, (x, y)), name, dtype), want, both)


def test_far_arguments_leave_their_neighbours_alone(host: Host) -> None:
    """A vector with a huge argument takes the slow way; its other lanes keep their bits."""
    x = np.linspace(-9, 9, 64)
    mixed = np.where(np.arange(64) % 5 == 0, 1e300, x)
    for name in ("sin", "cos", "tan"):
        alone, beside = measure((host, (x,)), name, "f64"), measure((host, (mixed,)), name, "f64")
        np.testing.assert_array_equal(beside[mixed == x], alone[mixed == x])
        assert exact(CASES[name].exact, (mixed,), "f64").distance(beside).max() <= 2


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("name", sorted(PAIRED))
def test_a_pair_has_the_bits_that_each_has_alone(
    host: Host, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where sine and cosine of one number are asked for, both kernels are made; else one of chosen coefficients."""
    x = np.concatenate([points(name, dtype), special_values(dtype)])
    monkeypatch.setattr(processor, "has_masks", lambda: True)
    for width in WIDTHS:
        paired, alone = (
            Mapped(host, lambda w, a, both=both: PAIRED[name](w, a, paired=both), [dtype], [dtype], width)(x)[0]
            for both in (True, False)
        )
        assert_same([paired], [alone])


def test_a_sine_costs_one_kernel_where_choices_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    products = {}
    for masks, width in itertools.product((False, True), (1, 8)):
        monkeypatch.setattr(processor, "has_masks", lambda masks=masks: masks)
        w = Writer()
        FUNCTIONS["sin"](w, Reg("f64", width, "%x"))
        products[masks, width] = sum("fmul" in line or ".fma." in line for line in w.lines)
    assert products == {(False, 1): 24, (False, 8): 24, (True, 1): 24, (True, 8): 17}
    w = Writer()
    for function in PAIRED.values():
        function(w, Reg("f64", 8, "%x"), paired=True)
    assert sum("fmul" in line or ".fma." in line for line in w.lines) == 24


SHARED = {
    "tanh, sech2": (lambda f, w, x: [f["tanh"](w, x), f["sech2"](w, x)], 1),
    "sigmoid, of -x too": (lambda f, w, x: [f["sigmoid"](w, x), f["sigmoid"](w, w.neg(x))], 1),
    "softplus, sigmoid": (lambda f, w, x: [f["softplus"](w, x), f["sigmoid"](w, x)], 2),
    "erf, gauss": (lambda f, w, x: [f["erf"](w, x), f["gauss"](w, x)], 1),
    "expm1, exp": (lambda f, w, x: [f["expm1"](w, x), f["exp"](w, x)], 0),
    "sin, cos": (lambda f, w, x: [f["sin"](w, x, paired=True), f["cos"](w, x, paired=True)], 0),
}


@pytest.mark.parametrize("pair", SHARED)
def test_what_a_derivative_shares_is_written_once(pair: str) -> None:
    make, divisions = SHARED[pair]
    w = Writer()
    first, second = make(FUNCTIONS, w, Reg("f64", 8, "%x"))
    text = "\n".join(w.lines)
    biases = {"sin, cos": 0, "expm1, exp": 2046}
    magic = w.number(1.5 * 2.0**52 + biases.get(pair, 1023 + 512), "f64", 8).text
    assert first != second
    assert text.count("fdiv") == divisions
    assert text.count("fsub") and sum("fsub" in s and magic in s for s in w.lines) == 1


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_coefficients_are_what_the_tool_makes(dtype: str) -> None:
    names = [fit.name for fit in fit_coefficients.fits()]
    assert sorted(names) == sorted(name for name in vars(coefficients) if name.isupper())
    with mpmath.workprec(300):
        for fit in fit_coefficients.fits():
            if fit.name in ("EXP", "LOG", "SIN"):
                made = tuple(fit_coefficients.coefficients(fit, dtype))
                assert getattr(coefficients, fit.name)[dtype] == made
