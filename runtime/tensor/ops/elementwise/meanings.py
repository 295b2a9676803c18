"""What operations mean on complex numbers, which are pairs of real values in the graph.

A complex tensor's kind is c64 or c128; its value in the graph is real, with an axis of two at the end:

    graph @mul(%a: f32[3,2], %b: f32[3,2]) {
      %0: f32[3,1] = slice %a {shape=(3, 1), start=(0, 0), step=(1, 1)}
      ...

So the pullback of the graph is PyTorch's convention by itself: the gradient of a real number with respect to x + iy is
its derivative along x plus i times its derivative along y.  An operation whose formula is arithmetic is read over
`Complex`, an algebra of pairs; one that only moves or adds elements is done for both parts (COMPONENTS); products of
matrices are four (BILINEAR).  Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .....compiler.ir.graph import Builder, Value
from .....compiler.ops.complex.pairs import Complex, Pair, Shown, joined, split
from .....compiler.ops.elementwise import cast
from .....compiler.ops.term import Term, Terms
from ...value.cells import PARTS, Kind, kind_of

COMPONENTS = frozenset(
    {"sum", "mean", "cat", "stack", "view", "squeeze", "split", "unbind", "expand", "repeat"}
    | {"index", "index_select", "gather", "take", "masked_select", "clone", "alias", "copy", "fill", "zero", "where"}
    | {"masked_fill", "cumsum", "tril", "triu", "trace", "put", "index_put", "index_add", "index_copy", "index_fill"}
    | {"scatter", "scatter_add", "diag_embed", "diagonal", "diagonal_scatter", "select_scatter", "slice_scatter", "pad"}
    | {"block_diag", "flip", "roll", "rot90", "widen", "total", "swap", "masked_scatter", "unfold", "fold"}
    | {"pixel_shuffle", "pixel_unshuffle", "channel_shuffle"}
)
"""Operations that are linear in their numbers, by their names; so are those whose formula says `by_parts`."""

BILINEAR = frozenset({"mm", "bmm", "mv", "dot", "outer", "einsum", "tensordot", "kron", "convolution"})
"""Operations that are products, by their names; the third argument of a convolution is added."""


def is_complex(kinds: Sequence[Kind], dtype: str | None, attributes: Sequence[Any]) -> bool:
    """Whether complex numbers take part in an operation."""
    return dtype in PARTS or any(k.is_complex for k in kinds) or any(type(a) is str and a in PARTS for a in attributes)


def results_of(
    b: Builder, operation: Any, kinds: Sequence[Kind], dtype: str | None, attributes: Sequence[Any],
    widen: Callable[..., Value] | None,
) -> tuple[list[Value], tuple[Kind, ...]]:  # fmt: skip
    """Emit an operation on complex numbers: the values of its results, and their kinds."""
    m = Complex(Terms(b))
    given = [_argument(m, p, k, dtype) for p, k in zip(b.params, kinds, strict=True)]
    if widen is not None:
        given = [_widened(m, g, widen) for g in given]
    refusal = f"{operation.name}: not implemented for complex tensors ({', '.join(map(str, kinds))})"
    try:
        made = _emitted(m, operation, given, attributes)
    except (NotImplementedError, TypeError, AttributeError) as error:
        raise NotImplementedError(refusal) from error
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    apart = any(isinstance(a, Shown) for op in b.body for a in op.args)
    if apart or any(r.type.is_complex for op in b.body for r in op.results):  # and no pair
        raise NotImplementedError(refusal)
    values = [joined(r) if isinstance(r, Pair) else r.value for r in results]
    return values, tuple(_kind(v, isinstance(r, Pair)) for v, r in zip(values, results, strict=True))


def _kind(value: Value, is_pair: bool) -> Kind:
    shape, dtype = value.type.static_shape(), value.type.dtype
    return kind_of({"f32": "c64", "f64": "c128"}[dtype], shape[:-1]) if is_pair else kind_of(dtype, shape)


def _argument(m: Complex, value: Value, kind: Kind, dtype: str | None) -> Any:
    """An argument as a pair or a real term, in the dtype to compute in."""
    part = PARTS.get(dtype, dtype) if dtype is not None else None
    if part is not None and value.type.dtype != part:
        value = cast(m.b, value, dtype=part)
    return split(m, value) if kind.is_complex else m.real(value)


def _widened(m: Complex, given: Any, widen: Callable[..., Value]) -> Any:
    if isinstance(given, Pair):
        return Pair(m, m.real(widen(m.b, given.re.value)), m.real(widen(m.b, given.im.value)))
    return m.real(widen(m.b, given.value))


def _emitted(m: Complex, operation: Any, given: list[Any], attributes: Sequence[Any]) -> Any:
    name = operation.name
    if isinstance(operation.of_complex, bool):
        return operation.emit(m, *given, *attributes)
    if name in CONVERSIONS:
        return CONVERSIONS[name](m, *given, *attributes)
    if name in BILINEAR:
        return _bilinear(m, operation, [m.pair(g) for g in given], attributes)
    if name in COMPONENTS or getattr(operation.emit, "by_parts", False):
        return _by_parts(m, operation, given, attributes)
    return operation.emit(m, *[g if not _is_real(g) else m.pair(g) for g in given], *attributes)


def _is_real(given: Any) -> bool:
    return isinstance(given, Term) and given.value.type.is_float


def _by_parts(m: Complex, operation: Any, given: list[Any], attributes: Sequence[Any]) -> Any:
    """The operation on the real parts, and on the imaginary ones; indices and masks are the same for both."""
    values = VALUES.get(operation.name, ())
    pairs = [m.pair(_as_float(m, g)) if k in values or _is_real(g) else g for k, g in enumerate(given)]
    written = given[1 if operation.name.endswith("_fill") else 0]
    if operation.rule in ("first", "own") and operation.name != "where" and not isinstance(written, Pair):
        raise NotImplementedError("complex numbers written into real ones")
    plain = [PARTS.get(a, a) if type(a) is str else a for a in attributes]
    parts = []
    for part in ("re", "im"):
        parts.append(operation.emit(m.real, *(getattr(g, part) if isinstance(g, Pair) else g for g in pairs), *plain))
    first, second = parts
    if isinstance(first, (tuple, list)):
        return tuple(Pair(m, x, y) if x.value.type.is_float else x for x, y in zip(first, second, strict=True))
    return Pair(m, first, second)


VALUES = {"copy": (0, 1), "fill": (0, 1), "where": (1, 2), "masked_fill": (1, 2), "index_fill": (1, 2)}
"""Which arguments are values also where they are whole numbers, and no indices or masks."""


def _as_float(m: Complex, given: Any) -> Any:
    if isinstance(given, Pair) or given.value.type.is_float:
        return given
    return m.real(cast(m.b, given.value, dtype="f64"))


def _bilinear(m: Complex, operation: Any, given: list[Pair], attributes: Sequence[Any]) -> Pair:
    def real(*terms: Any) -> Any:
        return operation.emit(m.real, *terms, *attributes)

    if len(given) == 1:
        return Pair(m, real(given[0].re), real(given[0].im))
    if operation.name == "convolution" and len(given) == 3:
        x, y, bias = given
        first, second = real(x.re, y.re, bias.re), real(x.re, y.im, bias.im)
        return Pair(m, first - real(x.im, y.im), second + real(x.im, y.re))
    if len(given) > 2:
        raise NotImplementedError("a product of several complex factors at once")
    x, y = given
    return Pair(m, real(x.re, y.re) - real(x.im, y.im), real(x.re, y.im) + real(x.im, y.re))


def _to(m: Complex, z: Any, dtype: str) -> Any:
    """Another dtype; no imaginary part is lost without a word."""
    part = PARTS.get(dtype)
    if part is None:
        if dtype == "bool":
            return m.ne(z, 0.0)
        raise NotImplementedError("imaginary parts would be lost")

    def converted(x: Any) -> Any:
        return x if x.value.type.dtype == part else m.real(cast(m.b, x.value, dtype=part))

    if isinstance(z, Pair):
        return Pair(m, converted(z.re), converted(z.im))
    return m.pair(converted(z))


def _sgn(m: Complex, z: Pair) -> Pair:
    size = m.abs(z)
    zero = m.real.eq(size, 0)
    return m.select(zero, 0.0, z / m.pair(m.real.select(zero, 1, size)))


CONVERSIONS: dict[str, Callable[..., Any]] = {"to": _to, "sgn": _sgn, "isreal": lambda m, z: m.real.eq(z.im, 0)}
"""Operations with a formula of their own, by their names."""

__all__ = ["is_complex", "results_of"]
