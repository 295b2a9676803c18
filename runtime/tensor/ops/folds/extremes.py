"""The largest and smallest elements and where they are; whether all or any elements are true."""

from __future__ import annotations

from collections.abc import Callable
from math import prod as product
from typing import Any, NamedTuple

from .....compiler.ir.types import Type
from .....compiler.ops import reduce as R
from .....compiler.ops.shape import reshape
from .....compiler.ops.source import iota
from ...face.required import check_tensors
from ...trace.fragments.fragments import Operation
from ...value.axes import axes_of, axis_of, one
from ...value.core import Core, Tensor, apply, apply_all, wrap
from ...value.given import real
from ...value.promotion import c_name
from ..elementwise.arithmetic import eq
from ..elementwise.elementary import cast_to
from ..elementwise.pointwise import maximum, minimum
from .reductions import back, converted, keep, shape_of, total


class Extreme(NamedTuple):
    """Values and where they were found."""

    values: Any
    indices: Any


class max_values(Extreme):
    def __repr__(self) -> str:
        return f"torch.return_types.max(\nvalues={self.values!r},\nindices={self.indices!r})"


class min_values(Extreme):
    def __repr__(self) -> str:
        return f"torch.return_types.min(\nvalues={self.values!r},\nindices={self.indices!r})"


def fold(name: str) -> Callable[..., Any]:
    fold = {"max": R.max_, "min": R.min_}[name]

    def emit(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
        shape, is_bool = shape_of(x), x.value.type.dtype == "bool"
        x = converted(m, x, "i32") if is_bool else x
        made = m(fold(m.b, x.value, axes=axes)) if axes else x
        made = m.ne(made, 0) if is_bool else made
        return keep(m, made, shape, axes, keepdim)

    return emit


def _index(m: Any, x: Any, name: str, axis: int) -> Any:
    if not shape_of(x):
        return m.number(0, Type("i64"))
    if x.value.type.dtype == "bool":
        x = converted(m, x, "i32")
    return m(R.argmax(m.b, (x if name == "max" else -x).value, axis=axis))


def _along(name: str) -> Callable[..., Any]:
    """The value at the index found, so that only that element gets a gradient."""

    def emit(m: Any, x: Any, axis: int, keepdim: bool) -> Any:
        shape, dtype = shape_of(x), x.value.type.dtype
        index = _index(m, x, name, axis)
        if not shape:
            return x, index
        places = m(iota(m.b, axis=axis, type=Type("i64", shape)))
        hit = m.eq(places, back(m, index, shape, (axis,)))
        x = converted(m, x, "i32") if dtype == "bool" else x
        values = converted(m, total(m, m.select(hit, x, 0), (axis,)), dtype)
        return tuple(keep(m, v, shape, (axis,), keepdim) for v in (values, index))

    return emit


def _extreme(
    name: str, found: type[Extreme], pairwise: Callable[..., Core]
) -> Callable[..., Any]:
    whole = Operation(name, f"{name.capitalize()}Backward1", fold(name))
    along = Operation(name, f"{name.capitalize()}Backward0", _along(name))

    def function(
        input: Core,
        dim: Any = None,
        keepdim: bool = False,
        *,
        axis: int | None = None,
        keepdims: bool = False,
        other: Any = None,
    ) -> Any:
        """The extreme of all elements, over `dim` with its indices, or of each pair with `other`."""
        check_tensors(name, input=input)
        other = dim if isinstance(dim, Core) else other
        if other is not None:
            return pairwise(input, other)
        shape = input._kind_of().shape
        dim = one(dim, axis, "dim and axis")
        if dim is None:
            if 0 in shape:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
                    " Specify the reduction dim with the 'dim' argument."
                )
            return apply(whole, (input,), (tuple(range(len(shape))), False))
        at = axis_of(dim, len(shape))
        _check_not_empty(name, shape, at)
        (values, indices), node = apply_all(along, (input,), (at, keepdim or keepdims))
        return found(wrap(values, node), wrap(indices))

    function.__name__ = function.__qualname__ = name
    return function


def _check_not_empty(name: str, shape: tuple[int, ...], axis: int) -> None:
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


max_over, min_over = _extreme("max", max_values, maximum), _extreme("min", min_values, minimum)


def _whole(name: str) -> Callable[..., Any]:
    operation = Operation(f"a{name}", f"A{name}Backward0", fold(name), pull=lambda *given: shared(*given))

    def function(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        """The extreme over `dim`; elements that tie share the gradient."""
        shape = input._kind_of().shape
        for axis in axes_of(dim, len(shape)):
            if shape[axis] == 0:
                what = f"dim {axis} to have non-zero size" if dim not in ((), None) else "dim to be specified"
                kind = IndexError if dim not in ((), None) else RuntimeError
                raise kind(f"a{name}(): Expected reduction {what} for input.numel() == 0.")
        return apply(operation, (input,), (axes_of(dim, len(input._kind_of().shape)), keepdim))

    function.__name__ = function.__qualname__ = f"a{name}"
    return function


amax, amin = _whole("max"), _whole("min")


def shared(
    m: Any, xs: list[Any], rs: list[Any], cts: list[Any], axes: tuple[int, ...], keepdim: bool
) -> list[Any]:
    """The pullback of extremes over axes: elements that tie share the cotangent, and NaN gives all of them NaN."""
    made, shape = None, shape_of(xs[0])
    kept = tuple(n for a, n in enumerate(shape) if a not in axes)
    for r, ct in zip(rs, cts, strict=True):
        r, ct = (m(reshape(m.b, v.value, shape=kept)) for v in (r, ct))
        best = m.eq(xs[0], back(m, r, shape, axes))
        share = ct / total(m, m.select(best, m.number(1.0, xs[0].value.type), 0), axes)
        rest = m.select(m.eq(r, r), 0, r)
        given = m.select(best, back(m, share, shape, axes), back(m, rest, shape, axes))
        made = given if made is None else made + given
    return [made]


def _arg(name: str) -> Callable[..., Any]:
    def emit(m: Any, x: Any, axis: int | None, keepdim: bool) -> Any:
        if axis is None:
            x, axis = m(reshape(m.b, x.value, shape=(product(shape_of(x)),))), 0
        return keep(m, _index(m, x, name, axis), shape_of(x), (axis,), keepdim)

    operation = Operation(f"arg{name}", "", emit)

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Where the extreme is first found, over `dim` or among all elements."""
        shape = input._kind_of().shape
        if dim is None:
            _check_not_empty(f"arg{name}", (product(shape),), 0)
            return apply(operation, (input,), (None, False))
        axis = axis_of(dim, len(shape))
        _check_not_empty(f"arg{name}", shape, axis)
        return apply(operation, (input,), (axis, keepdim and bool(shape)))

    function.__name__ = function.__qualname__ = f"arg{name}"
    return function


argmax, argmin = _arg("max"), _arg("min")


def _count(wanted: bool) -> Callable[..., Any]:
    """any: some element is not zero; all: none is."""

    def emit(m: Any, x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
        shape = shape_of(x)
        zero = m.number(False, x.value.type) if x.value.type.dtype == "bool" else 0
        hits = converted(m, (m.ne if wanted else m.eq)(x, zero), "i64")
        counted = total(m, hits, axes)
        return keep(m, (m.ne if wanted else m.eq)(counted, 0), shape, axes, keepdim)

    return emit


def _quantifier(operation: Operation) -> Callable[..., Any]:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        """Whether elements are true (not zero), over `dim` or among all; of uint8 as 0 and 1."""
        made = apply(operation, (input,), (axes_of(dim, len(input._kind_of().shape)), keepdim))
        return cast_to(made, "u8") if input._kind_of().dtype == "u8" else made

    function.__name__ = function.__qualname__ = operation.name
    return function


any_ = _quantifier(Operation("any", "", _count(True)))
all_ = _quantifier(Operation("all", "", _count(False)))


# ---- closeness


def _isclose(m: Any, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    near = m.le(m.abs(x - y), rtol * m.abs(y) + atol)
    close = m.or_(m.eq(x, y), m.and_(near, m.lt(m.abs(y), float("inf"))))
    return m.or_(close, m.and_(m.ne(x, x), m.ne(y, y))) if equal_nan else close


def _doubles(m: Any, x: Any, y: Any) -> Any:
    return converted(m, x, "f64"), converted(m, y, "f64")


ISCLOSE_WHOLE = Operation("isclose", "", lambda m, x, y, *rest: _isclose(m, *_doubles(m, x, y), *rest), "common", True)
ISCLOSE = Operation("isclose", "", _isclose, "float", True)


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether elements differ by at most atol + rtol * |other|."""
    check_tensors("isclose", input=input, other=other)
    a, b = input._kind_of().dtype, other._kind_of().dtype
    if a != b:
        raise RuntimeError(f"{c_name(a)} did not match {c_name(b)}")
    for name, bound in (("rtol", rtol), ("atol", atol)):
        if not bound >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {bound}")
    if a[0] in "iu":
        rounded = ISCLOSE_WHOLE
        return apply(rounded, (input, other), (real(rtol), real(atol), equal_nan))
    return apply(ISCLOSE, (input, other), (real(rtol), real(atol), equal_nan))


def allclose(
    input: Core, other: Core, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements differ by at most atol + rtol * |other|."""
    return bool(all_(isclose(input, other, rtol, atol, equal_nan))._array().item())


def equal(input: Core, other: Core) -> bool:
    """Whether two tensors have the same shape and elements."""
    if input._kind_of().shape != other._kind_of().shape:
        return False
    return bool(all_(eq(input, other))._array().item())
