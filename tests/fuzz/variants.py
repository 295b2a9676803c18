"""Random calls of NumPy's and SciPy's functions with their optional arguments, compiled, against NumPy's own results.

    examine(variant(number)) -> "equal" | "refused: ..." | "raises"                or a Difference

Arrays are of every kind of numbers, of no, one or several dimensions, some of them empty; options come by name, in any
order. Where NumPy raises, the compiled call has to raise as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.special

import pullback
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.settings import settings
from tests.fuzz.choices import Choices
from tests.fuzz.compositions import Difference, executed, flat, outcome

KINDS = ("float64", "float64", "float32", "int64", "int32", "bool", "complex128", "complex64")
SHAPES = ((), (0,), (1,), (3,), (5,), (2, 3), (3, 3), (2, 0), (2, 3, 2))


class Variant(NamedTuple):
    """A call, as text of a function of arrays, and these."""

    source: str
    args: tuple[Any, ...]

    def text(self) -> str:
        given = ", ".join(f"np.array({a.tolist()!r}, {a.dtype.name!r})" for a in self.args)
        return f"print(pullback.jit({self.source})({given}))\nprint(({self.source})({given}))"


# ---- arrays and options


def _array(c: Choices, shape: tuple[int, ...], kind: str | None = None) -> np.ndarray:
    kind, rng = kind or c.pick(*KINDS), np.random.default_rng(c.below(1 << 30))
    if kind == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if kind.startswith("int"):
        return np.asarray(rng.integers(-4, 6, shape)).astype(kind)
    made = rng.normal(size=shape).round(3)
    return np.asarray(made + 1j * rng.normal(size=shape).round(3) if kind.startswith("complex") else made).astype(kind)


Option = Callable[[Choices, np.ndarray], str]


def _one_of(*texts: str) -> Option:
    return lambda c, x: c.pick(*texts)


def _axis(c: Choices, x: np.ndarray) -> str:
    return str(c.below(2 * x.ndim) - x.ndim) if x.ndim else c.pick("None", "0", "-1")


def _axes(c: Choices, x: np.ndarray) -> str:
    if x.ndim > 1 and c.chance(30):
        return str((c.below(x.ndim - 1), -1))
    return "None" if c.chance(15) else _axis(c, x)


def _where(c: Choices, x: np.ndarray) -> str:
    return f"np.array({_array(c, x.shape, 'bool').tolist()}, bool)"


FLAG = _one_of("True", "False")
SMALL = _one_of("0", "1", "2", "-1", "3")
DTYPE = _one_of("np.float64", "np.float32", "np.int64", "np.complex128", "float", "int")
FRACTIONS = _one_of("0.3", "0.5", "[0.0, 0.25, 1.0]", "np.array([[0.1], [0.9]])", "1")
METHODS = _one_of(
    *map(repr, ("linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased"))
)
PADDING = _one_of(
    *map(repr, ("edge", "reflect", "symmetric", "wrap", "mean", "maximum", "linear_ramp", "constant"))
)
OUTSIDE = _one_of("'wrap'", "'clip'", "'raise'")
MODE = _one_of("'full'", "'same'", "'valid'")
_REDUCED = {"axis": _axes, "keepdims": FLAG}
_FILTERED = {**_REDUCED, "where": _where}
_SUMMED = {**_FILTERED, "dtype": DTYPE, "initial": _one_of("0", "1.5", "-2")}
_SPREAD = {**_FILTERED, "ddof": _one_of("0", "1", "0.5"), "dtype": DTYPE}
_ENDS = {**_FILTERED, "initial": _one_of("0", "-9", "9.5")}
_AXIS = {"axis": _axis}
_NORM = {"norm": _one_of("'ortho'", "'forward'", "'backward'", "None")}
_FFT = {"n": _one_of("3", "4", "7", "None"), "axis": _axis, **_NORM}
_ORD = _one_of("1", "2", "-1", "-2", "np.inf", "-np.inf", "0", "'fro'", "'nuc'", "None", "3")
_QUANTILE = {**_REDUCED, "method": METHODS}
_UFUNC = {"dtype": DTYPE, "where": _where}

SIGNATURES: dict[str, tuple[str, dict[str, Option]]] = {
    **dict.fromkeys(("np.sum", "np.prod", "np.nansum", "np.nanprod"), ("x", _SUMMED)),
    **dict.fromkeys(("np.max", "np.min", "np.nanmax", "np.nanmin"), ("x", _ENDS)),
    **dict.fromkeys(("np.all", "np.any"), ("x", _FILTERED)),
    **dict.fromkeys(("np.mean", "np.nanmean"), ("x", {**_FILTERED, "dtype": DTYPE})),
    **dict.fromkeys(("np.std", "np.var", "np.nanstd", "np.nanvar"), ("x", _SPREAD)),
    **dict.fromkeys(("np.median", "np.nanmedian", "np.ptp", "np.count_nonzero"), ("x", _REDUCED)),
    **dict.fromkeys(("np.quantile", "np.nanquantile"), ("x, {q}", _QUANTILE)),
    **dict.fromkeys(("np.argmax", "np.argmin", "np.nanargmax"), ("x", {"axis": _axis, "keepdims": FLAG})),
    **dict.fromkeys(("np.cumsum", "np.cumprod", "np.nancumsum"), ("x", {"axis": _axis, "dtype": DTYPE})),
    "np.cumulative_sum": ("x", {"axis": _axis, "dtype": DTYPE, "include_initial": FLAG}),
    "np.average": ("x",
        {**_REDUCED, "weights": lambda c, x: f"np.array({(abs(_array(c, x.shape, 'float64')) + 1).tolist()})"}),
    "np.sort": ("x", {**_AXIS, "stable": FLAG}),
    "np.argsort": ("x", {**_AXIS, "kind": _one_of("'stable'")}),
    "np.flip": ("x", {"axis": _axes}),
    "np.roll": ("x, {n}", {"axis": _axis}),
    "np.rot90": ("x", {"k": SMALL, "axes": _one_of("(0, 1)", "(1, 0)", "(-1, 0)")}),
    "np.squeeze": ("x", _AXIS),
    "np.expand_dims": ("x", {"axis": _one_of("0", "-1", "(0, -1)", "1")}),
    "np.moveaxis": ("x", {"source": _axis, "destination": _axis}),
    "np.repeat": ("x", {"repeats": SMALL, "axis": _axis}),
    "np.take": ("x",
        {"indices": _one_of("0", "[0, -1, 1]", "[[2, 0]]"), "axis": _axis, "mode": OUTSIDE}),
    "np.diff": ("x",
        {"n": _one_of("0", "1", "2"), "axis": _axis, "prepend": _one_of("0", "1.5"), "append": _one_of("2")}),
    "np.trace": ("x", {"offset": SMALL, "axis1": _axis, "axis2": _axis, "dtype": DTYPE}),
    "np.diagonal": ("x", {"offset": SMALL, "axis1": _axis, "axis2": _axis}),
    **dict.fromkeys(("np.tril", "np.triu", "np.diag"), ("x", {"k": SMALL})),
    "np.gradient": ("x, {n}", {"axis": _axis, "edge_order": _one_of("1", "2")}),
    "np.trapezoid": ("x", {"dx": _one_of("0.5", "2"), "axis": _axis}),
    "np.unwrap": ("x", {"discont": _one_of("None", "4.0"), "axis": _axis, "period": _one_of("2.0", "3")}),
    "np.pad": ("x, {n}", {"mode": PADDING}),
    "np.delete": ("x, {n}", _AXIS),
    "np.insert": ("x, {n}, 7", _AXIS),
    "np.append": ("x, x", _AXIS),
    **dict.fromkeys(("np.concatenate", "np.stack"), ("(x, x)", {"axis": _axis, "dtype": DTYPE})),
    "np.array_split": ("x, 2", _AXIS),
    "np.clip": ("x", {"min": _one_of("0", "-0.5", "None"), "max": _one_of("1", "2.5", "None")}),
    "np.round": ("x", {"decimals": SMALL}),
    "np.nan_to_num": ("x", {"nan": _one_of("1.0"), "posinf": _one_of("2.0")}),
    "np.isclose": ("x, y", {"rtol": _one_of("0.5", "0"), "atol": _one_of("1", "0.1"), "equal_nan": FLAG}),
    "np.isin": ("x, y", {"invert": FLAG, "assume_unique": _one_of("False")}),
    "np.searchsorted": ("np.sort(y, axis=None), x", {"side": _one_of("'left'", "'right'")}),
    "np.digitize": ("x, [-1.0, 0.0, 1.0]", {"right": FLAG}),
    "np.interp": ("x, [-1.0, 0.0, 2.0], [3.0, 1.0, 4.0]",
        {"left": _one_of("0", "None"), "right": _one_of("9.0"), "period": _one_of("None", "2.5")}),
    "np.histogram": ("x", {"bins": _one_of("3", "[-1, 0, 2]"), "range": _one_of("(-2, 2)"), "density": FLAG}),
    **dict.fromkeys(("np.convolve", "np.correlate"), ("x, y", {"mode": MODE})),
    "np.cov": ("x", {"rowvar": FLAG, "bias": FLAG, "ddof": _one_of("0", "1", "None")}),
    "np.corrcoef": ("x", {"rowvar": FLAG}),
    "np.vander": ("x", {"N": _one_of("2", "4", "None"), "increasing": FLAG}),
    "np.polyval": ("x, y", {}),
    "np.polyder": ("x", {"m": _one_of("0", "1", "2")}),
    "np.polyint": ("x", {"m": _one_of("0", "1", "2"), "k": _one_of("None", "1")}),
    "np.tensordot": ("x, x", {"axes": _one_of("0", "1", "2", "([0], [0])", "(-1, -1)")}),
    "np.cross": ("x, x + 1", {"axis": _axis}),
    **dict.fromkeys(("np.matmul", "np.dot", "np.inner", "np.outer", "np.kron", "np.vdot"), ("x, y", {})),
    **dict.fromkeys(("np.add", "np.multiply", "np.subtract", "np.true_divide", "np.maximum", "np.fmin"),
                    ("x, y", {"dtype": DTYPE})),
    **dict.fromkeys(("np.power", "np.mod", "np.floor_divide", "np.arctan2", "np.hypot", "np.less", "np.logical_or"),
                    ("x, y", {})),
    **dict.fromkeys(("np.exp", "np.sin", "np.square", "np.abs", "np.sign", "np.negative", "np.floor", "np.isfinite"),
                    ("x", {"dtype": DTYPE})),
    **dict.fromkeys(("np.add.reduce", "np.multiply.reduce"),
                    ("x", {"axis": _axes, "keepdims": FLAG, "initial": _one_of("2")})),
    **dict.fromkeys(("np.add.accumulate", "np.maximum.accumulate"), ("x", _AXIS)),
    "np.subtract.outer": ("x, y", {}),
    "np.linalg.norm": ("x", {"ord": _ORD, "axis": _axes, "keepdims": FLAG}),
    "np.linalg.matrix_power": ("x", {"n": _one_of("0", "1", "2", "3")}),
    **dict.fromkeys(("np.linalg.vecdot",), ("x, x", _AXIS)),
    **dict.fromkeys(("np.fft.fft", "np.fft.ifft", "np.fft.rfft", "np.fft.irfft", "np.fft.hfft"), ("x", _FFT)),
    "np.fft.fft2": ("x", {"axes": _one_of("(0, 1)", "(-1, 0)"), **_NORM}),
    "np.fft.fftshift": ("x", {"axes": _axis}),
    "scipy.special.logsumexp": ("x", {**_REDUCED, "return_sign": FLAG}),
    **dict.fromkeys(("scipy.special.softmax", "scipy.special.log_softmax"), ("x", {"axis": _axes})),
    "scipy.linalg.norm": ("x", {"ord": _ORD, "keepdims": FLAG}),
    **dict.fromkeys(("scipy.linalg.toeplitz", "scipy.linalg.hankel"), ("x, y", {})),
    "scipy.linalg.block_diag": ("x, y", {}),
    "scipy.linalg.solve_triangular": ("x + 9 * np.eye(3), x",
        {"trans": _one_of("0", "1", "2", "'T'", "'C'"), "lower": FLAG, "unit_diagonal": FLAG}),
    "scipy.linalg.solve": ("x + 9 * np.eye(3), x",
        {"assume_a": _one_of("'gen'", "'sym'", "'her'", "'pos'"), "lower": FLAG, "transposed": FLAG}),
}  # fmt: skip
"""Function -> its first arguments, and what may be drawn for the others by name."""


def variant(number: int) -> Variant:
    """The functions take turns."""
    c = Choices(number)
    name = [*SIGNATURES][number % len(SIGNATURES)]
    first, options = SIGNATURES[name]
    x = _array(c, (3, 3) if "eye(3)" in first else c.pick(*SHAPES))
    if x.dtype == bool and name in _LENIENT:
        x = x.astype(float)
    if not x.size and name.startswith("np.fft."):  # NumPy transforms memory that nobody has written to
        x = _array(c, (3,))
    names = [each for each in options if c.chance(50)]
    c.random.shuffle(names)
    given = [f"{each}={options[each](c, x)}" for each in names]
    first = first.replace("{n}", c.pick("0", "1", "2")).replace("{q}", FRACTIONS(c, x))
    args = (x, _array(c, c.pick(*SHAPES[:5], x.shape))) if "y" in first else (x,)
    return Variant(f"lambda {'x, y' if len(args) == 2 else 'x'}: {name}({', '.join([first, *given])})", args)


_LENIENT = ("np.gradient", "scipy.special.softmax", "scipy.special.log_softmax", "np.power", "np.nanmin", "np.nanmax")
"""Of truth values these give what is computed of 0 and 1, where NumPy raises or has its own notion of the least."""


# ---- the verdict


def examine(made: Variant) -> str:
    function = executed(f"main = {made.source}\n", {"np": np, "scipy": scipy})
    want, theirs = outcome(function, made.args)
    if theirs is None and any(a.dtype == object for a in flat(want)):
        return "objects"
    with settings.override(cache=False), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        got, ours = outcome(pullback.jit(function), made.args)
    if isinstance(ours, TraceError):
        return "raises" if theirs is not None else f"refused: {str(ours).splitlines()[0]}"
    if ours is not None:
        if theirs is None:
            raise Difference(f"raises {type(ours).__name__}: {ours}")
        return "raises"
    if theirs is not None:
        raise Difference(f"gives {got!r:.80}, where NumPy raises {theirs!r:.200}")
    least = any(a.dtype in (np.float32, np.complex64) for a in made.args)  # NumPy keeps differences from a mean in it
    _compare(flat(got), flat(want), 2e-4 if least else 1e-10)
    return "equal"


def _compare(ours: list[np.ndarray], theirs: list[np.ndarray], least: float) -> None:
    kinds = [[(a.shape, a.dtype.name) for a in each] for each in (ours, theirs)]
    if kinds[0] != kinds[1]:
        raise Difference(f"results {kinds[0]}, NumPy's {kinds[1]}")
    for a, b in zip(ours, theirs, strict=True):
        tolerance = 2e-4 if a.dtype in (np.float32, np.complex64) else least
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            raise Difference(f"result {a.tolist()}, NumPy's {b.tolist()}")


__all__ = ["SIGNATURES", "Variant", "examine", "variant"]
