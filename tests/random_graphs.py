"""Random well-typed graphs, with arguments at which they are finite: a Hypothesis strategy.

Every primitive is drawn.  Arguments of functions with poles or steep growth are first brought into their domain,
so that most graphs have values and derivatives of moderate size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from pullback.compiler.ir.graph import Builder, Graph, Value
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.types import DTYPES, Type
from pullback.compiler.ops.elementwise import Elementwise
from pullback.compiler.ops.source import number
from pullback.compiler.ops.term import Terms

SHAPES: list[tuple[int, ...]] = [(), (3,), (2, 3), (1,), (5,), (0,), (3, 1), (1, 4), (2, 1, 3), (0, 2), (17,)]
KINDS = ["f64", "f64", "f64", "f32", "f32", "i64", "i32", "bool"]
DIVIDING = {"div", "mod", "floordiv", "arctan2"}
POSITIVE = {"log", "log2", "log10", "cbrt", "sqrt", "pow"} | DIVIDING
STEEP = {"exp", "expm1", "exp2", "gauss", "sech2", "pow", "sinh", "cosh", "tanh", "sigmoid", "softplus", "erf"}
NARROW = {"tan", "arcsin", "arccos"}


class Case(NamedTuple):
    """A graph and arguments for it."""

    graph: Graph
    args: list[np.ndarray]


class Draft:
    """A graph being drawn: the values so far, and the primitives that may follow."""

    def __init__(self, draw: Callable[[Any], Any], b: Builder, depth: int) -> None:
        self.draw, self.b, self.depth = draw, b, depth
        self.values: list[Value] = list(b.params)

    def choice(self, items: Any) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def value(self, wanted: Callable[[Type], bool] = lambda t: True) -> Value | None:
        """One of the values whose type is wanted, later ones first."""
        fit = [v for v in reversed(self.values) if wanted(v.type)]
        return self.choice(fit) if fit else None

    def like(self, type: Type) -> Value:
        """A value of this type: one there is, or another cast and repeated, or a constant."""
        fit = [v for v in reversed(self.values) if v.type == type]
        near = [v for v in self.values if v.type.shape == type.shape and _safe_cast(v.type, type)]
        small = [v for v in self.values if not v.type.shape and v.type.dtype == type.dtype]
        kinds = ["there"] * 3 * bool(fit) + ["cast"] * bool(near) + ["spread"] * bool(small) + ["const"]
        kind = self.choice(kinds)
        if kind == "there":
            return self.choice(fit)
        if kind == "cast":
            return REGISTRY["cast"](self.b, self.choice(near), dtype=type.dtype)
        if kind == "spread":
            return REGISTRY["spread"](self.b, self.choice(small), shape=type.shape, axes=())
        return number(self.b, self.choice([2, 1, 0, 3, -1]) if type.dtype != "bool" else True, type)

    def keep(self, *made: Value) -> None:
        self.values.extend(v for v in made if size(v.type) <= 60)

    def step(self, wanted: str | None = None) -> None:
        """Add one primitive, the one wanted if there is one, if there is something to apply it to."""
        dtypes = {v.type.dtype for v in self.values}
        fit = (n for n in NAMES if n in SPECIAL or dtypes & set(getattr(REGISTRY[n], "kinds", ())))
        name = wanted or self.choice(fit)
        special = SPECIAL.get(name)
        if special is not None:
            special(self, REGISTRY[name])
        elif isinstance(REGISTRY[name], Elementwise):
            _elementwise(self, REGISTRY[name])


def size(t: Type) -> int:
    return math.prod(t.static_shape())


def _safe_cast(source: Type, result: Type) -> bool:
    return not source.is_float or result.is_float


def _tamed(d: Draft, name: str, args: list[Value]) -> list[Value]:
    """Arguments inside the domain: positive ones away from 0, steep functions near it."""
    m = Terms(d.b)
    if not args[0].type.is_float:
        return args
    if name in STEEP:
        args = [(2 * m.sin(m(a))).value for a in args]
    if name in NARROW:
        args = [(0.9 * m.sin(m(a))).value for a in args]
    if name in POSITIVE:
        k = int(name in DIVIDING)
        args = [(m.abs(m(a)) + 0.5).value if j == k else a for j, a in enumerate(args)]
    if name == "log1p":
        args = [m.abs(m(a)).value for a in args]
    return args


def _elementwise(d: Draft, prim: Any) -> None:
    first = d.value(lambda t: t.dtype in prim.kinds)
    if first is not None:
        args = [first, *(d.like(first.type) for _ in range(prim.arity - 1))]
        d.keep(prim(d.b, *_tamed(d, prim.name, args)))


def _select(d: Draft, prim: Any) -> None:
    a = d.value()
    assert a is not None
    d.keep(prim(d.b, d.like(a.type.with_dtype("bool")), a, d.like(a.type)))


def _cast(d: Draft, prim: Any) -> None:
    a, dtype = d.value(), d.choice(DTYPES)
    assert a is not None
    if not _safe_cast(a.type, Type(dtype)):
        m = Terms(d.b)
        a = (5 * m.sin(m(a))).value
    d.keep(prim(d.b, a, dtype=dtype))


def _spread(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.rank < 3)
    if a is not None:
        at = d.draw(st.integers(0, a.type.rank))
        size = d.choice([2, 1, 3, 0])
        shape = (*a.type.shape[:at], size, *a.type.shape[at:])
        d.keep(prim(d.b, a, shape=shape, axes=tuple(k for k in range(len(shape)) if k != at)))


def _reshape(d: Draft, prim: Any) -> None:
    a = d.value()
    assert a is not None
    n = size(a.type)
    shapes = [s for s in [(n,), (1, n), (n, 1), (2, n // 2), (n // 3, 3), *SHAPES] if int(np.prod(s)) == n]
    d.keep(prim(d.b, a, shape=d.choice(shapes)))


def _transpose(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.rank > 1) or d.value()
    assert a is not None
    d.keep(prim(d.b, a, axes=tuple(d.draw(st.permutations(range(a.type.rank))))))


def _places(d: Draft, sizes: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """For each axis where a slice starts, its step and its length."""
    found = []
    for n in sizes:
        start, step = d.draw(st.integers(0, max(n - 1, 0))), d.choice([1, 1, -1, 2])
        most = 0 if not n else (n - 1 - start) // step + 1 if step > 0 else start // -step + 1
        found.append((start, step, d.draw(st.integers(0, most))))
    start, step, shape = zip(*found, strict=True) if found else ((), (), ())
    return start, step, shape


def _slice(d: Draft, prim: Any) -> None:
    a = d.value()
    assert a is not None
    start, step, shape = _places(d, a.type.static_shape())
    d.keep(prim(d.b, a, start=start, step=step, shape=shape))


def _pad(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.rank in (1, 2))
    if a is not None:
        step = tuple(d.choice([1, 2, -1]) for _ in a.type.shape)
        low, high = (tuple(d.draw(st.integers(0, 2)) for _ in step) for _ in "ab")
        span = [max(n - 1, 0) * abs(k) for n, k in zip(a.type.static_shape(), step, strict=True)]
        start = tuple(lo + s * (k < 0) for lo, s, k in zip(low, span, step, strict=True))
        shape = tuple(lo + s + 1 + hi for lo, s, hi in zip(low, span, high, strict=True))
        d.keep(prim(d.b, a, start=start, step=step, shape=shape))


def _concatenate(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.rank > 0)
    if a is not None:
        axis = d.draw(st.integers(0, a.type.rank - 1))
        d.keep(prim(d.b, a, *(d.like(a.type) for _ in range(d.draw(st.integers(0, 2)))), axis=axis))


def _pack(d: Draft, prim: Any) -> None:
    a = d.value()
    if a is not None:
        dtype = a.type.dtype
        others = [d.value(lambda t: t.dtype == dtype) or a for _ in range(d.draw(st.integers(0, 3)))]
        d.keep(prim(d.b, a, *others))


def _unpack(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.rank == 1)
    if a is not None:
        parts, left = [], a.type.static_size()
        while left > 0 or not parts:
            shape = d.choice([s for s in ((), (1,), (2,), (1, 2), (left,)) if math.prod(s) <= left])
            parts.append(Type(a.type.dtype, shape))
            left -= math.prod(shape)
        d.keep(*d.b.emit(prim, a, types=tuple(parts)))


def _fold(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.dtype != "bool" and (prim.name == "sum" or 0 not in t.shape))
    if a is not None:
        axes = [k for k in range(a.type.rank) if d.draw(st.booleans())]
        d.keep(prim(d.b, a, axes=tuple(axes)))


def _argmax(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.dtype != "bool" and t.rank > 0 and 0 not in t.shape)
    if a is not None:
        d.keep(prim(d.b, a, axis=d.draw(st.integers(0, a.type.rank - 1))))


def _contract(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.dtype != "bool" and 0 < t.rank < 3)
    if a is not None:
        y = d.value(lambda t: t.dtype == a.type.dtype and 0 < t.rank < 3) or a
        pairs = [(i, j) for i, n in enumerate(a.type.shape) for j, k in enumerate(y.type.shape) if n == k]
        used = [d.choice(pairs)] if pairs and d.draw(st.booleans()) else []
        batch = bool(used) and d.choice([False, False, True])
        left, right = (tuple(p[s] for p in used if not batch) for s in (0, 1))
        d.keep(prim(d.b, a, y, left=left, right=right, **({"batch": tuple(used)} if batch else {})))


def _correlate(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.dtype != "bool" and t.rank == 1 and 0 not in t.shape)
    y = d.value(lambda t: a is not None and t.dtype == a.type.dtype and t.rank == 1 and 0 not in t.shape)
    if a is None or y is None:
        return
    x, w = sorted((a, y), key=lambda v: -size(v.type))
    channels = 2 if size(w.type) % 2 == 0 and size(x.type) % 2 == 0 and d.draw(st.booleans()) else 1
    reshape = REGISTRY["reshape"]
    x = reshape(d.b, x, shape=(1, 1, channels, size(x.type) // channels))
    w = reshape(d.b, w, shape=(1, 1, channels, size(w.type) // channels))
    n, k = x.type.shape[-1], w.type.shape[-1]
    dilation = d.choice([1, 2]) if (k - 1) * 2 < n else 1
    made = prim(d.b, x, w, stride=(d.choice([1, 2, 3]),), dilation=(dilation,))
    d.keep(reshape(d.b, made, shape=(size(made.type),)))


def _indices(d: Draft, size: int) -> Value:
    """Integers, mostly below `size`."""
    found = d.value(lambda t: t.dtype == "i64" and t.rank < 2)
    if found is not None and d.draw(st.booleans()):
        return found
    iota = REGISTRY["iota"](d.b, type=Type("i64", (d.choice([2, 3, 0]),)), axis=0)
    m = Terms(d.b)
    return m.mod(m(iota) * 2, max(size, 1)).value


def _take(d: Draft, prim: Any) -> None:
    a = d.value(lambda t: t.rank > 0 and 0 not in t.shape and t.dtype != "bool")
    if a is not None:
        axis = d.draw(st.integers(0, a.type.rank - 1))
        size = a.type.static_shape()[axis]
        indices = _indices(d, size)
        if prim.name == "take":
            d.keep(prim(d.b, a, indices, axis=axis))
        else:
            rows = a.type.with_shape((*a.type.shape[:axis], *indices.type.shape, *a.type.shape[axis + 1 :]))
            d.keep(prim(d.b, a, indices, d.like(rows), axis=axis))


def _check(d: Draft, prim: Any) -> None:
    m, i = Terms(d.b), d.value(lambda t: t.dtype == "i64") or number(d.b, 3, Type("i64", d.choice(SHAPES)))
    d.keep(prim(d.b, m.mod(m(i), 4).value, axis=0, size=4))


def _source(d: Draft, prim: Any) -> None:
    shape = d.choice(SHAPES)
    if prim.name == "dimension":
        d.keep(prim(d.b, size=d.choice([0, 1, 7])))
    elif prim.name == "const":
        d.keep(number(d.b, d.choice([1, 0, 3]), Type(d.choice(DTYPES), shape)))
    elif shape:
        d.keep(prim(d.b, type=Type("i64", shape), axis=d.draw(st.integers(0, len(shape) - 1))))


def _call(d: Draft, prim: Any) -> None:
    if d.depth < 2:
        args = [v for v in (d.value() for _ in range(d.draw(st.integers(1, 2)))) if v is not None]
        region = _grown(d.draw, Builder("part", [a.type for a in args]), d.depth + 1, 3)
        d.keep(*d.b.emit(prim, *args, regions=(region,)))


SPECIAL: dict[str, Callable[[Draft, Any], None]] = {
    "select": _select,
    "cast": _cast,
    "spread": _spread,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "pack": _pack,
    "unpack": _unpack,
    "sum": _fold,
    "max": _fold,
    "min": _fold,
    "argmax": _argmax,
    "contract": _contract,
    "correlate": _correlate,
    "take": _take,
    "scatter_add": _take,
    "scatter_max": _take,
    "scatter_min": _take,
    "check_indices": _check,
    "const": _source,
    "basis": _source,
    "iota": _source,
    "dimension": _source,
    "call": _call,
}
#: primitives without a way to draw them are left out here, and found missing by the test
NAMES = [n for n in sorted(REGISTRY) if n in SPECIAL or isinstance(REGISTRY[n], Elementwise)]
#: differentiable ones are drawn more often
NAMES += [n for n in NAMES if n in SPECIAL]
NAMES += ["add", "mul", "sub", "div", "sin", "tanh", "exp", "maximum", "sum", "contract"]


def _grown(
    draw: Callable[[Any], Any], b: Builder, depth: int, most: int, first: str | None = None
) -> Graph:
    draft = Draft(draw, b, depth)
    if first is not None:
        draft.step(first)
    for _ in range(draw(st.integers(1, most))):
        draft.step()
    results = [draft.values[-1]]
    results += [draft.choice(draft.values) for _ in range(draw(st.integers(0, 2)))]
    return b.finish(results)


@st.composite
def cases(draw: Callable[[Any], Any], floats: bool = False, first: str | None = None) -> Case:
    """Graphs of up to ten primitives with arguments; with `floats` the first argument is of floats.

    `first` names a primitive to begin with.
    """
    types = [
        Type(draw(st.sampled_from(KINDS[: 5 if floats and not k else 8])), draw(st.sampled_from(SHAPES)))
        for k in range(draw(st.integers(1, 3)))
    ]
    graph = _grown(draw, Builder("random", types, "abc"[: len(types)]), 0, 10, first)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return Case(graph, [_argument(t, rng) for t in types])


def _argument(t: Type, rng: np.random.Generator) -> np.ndarray:
    if t.is_float:
        made = rng.normal(size=t.static_shape()) * 1.5
    else:
        made = rng.integers(0, 2, t.static_shape()) if t.dtype == "bool" else rng.integers(-4, 9, t.static_shape())
    return np.asarray(made).astype(t.numpy)
