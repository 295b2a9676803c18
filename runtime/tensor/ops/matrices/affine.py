"""Products added to something: addmm and its kin, beta * input + alpha * (a product)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....compiler.ops.complex.pairs import Pair
from .....compiler.ops.contract import contract
from .....compiler.ops.elementwise import cast
from .....compiler.ops.reduce import sum_
from ...face.required import older_order
from ...trace.fragments.changing import Scalar
from ...trace.fragments.fragments import Operation, widen
from ...value.core import Core, Tensor, apply
from ...value.dtypes import ALL
from ..arranging.shapes import shape_of
from ..folds.reductions import moved
from .products import C_NAMES

Combine = Callable[[Any, Any, Any], Any]


def _contracted(left: tuple[int, ...], right: tuple[int, ...], batch: bool = False) -> Combine:
    attrs: dict[str, Any] = {"left": left, "right": right}
    if batch:
        attrs["batch"] = ((0, 0),)
    return lambda m, x, y: m(contract(m.b, x.value, y.value, **attrs))


def _of_pairs(combine: Combine) -> Combine:
    """The same of complex numbers, too: four products of parts."""

    def product(m: Any, x: Any, y: Any) -> Any:
        if not isinstance(x, Pair):
            return combine(m, x, y)
        first, second = combine(m.real, x.re, y.re), combine(m.real, x.im, y.im)
        return Pair(m, first - second, combine(m.real, x.re, y.im) + combine(m.real, x.im, y.re))

    return product


def _summed(m: Any, x: Any, y: Any) -> Any:
    """The sum of a batch of products."""
    return m(sum_(m.b, _contracted((2,), (1,), True)(m, x, y).value, axes=(0,)))


def _added(combine: Combine) -> Callable[..., Any]:
    """beta 0 leaves out what would be multiplied with it, NaN or not."""

    def emit(m: Any, bias: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
        if x.value.type.dtype == "bool":
            return _of_bools(m, combine, bias, x, y, alpha, beta)
        made = combine(m, x, y)
        made = made if type(alpha) is not Scalar and alpha == 1 else made * alpha
        if beta == 0:
            return made
        shape = made.value.type.static_shape()
        bias = moved(m, bias, lambda m, x: m(widen(m.b, x.value, shape)))
        return (bias if beta == 1 else bias * beta) + made

    return emit


def _of_bools(m: Any, combine: Combine, bias: Any, x: Any, y: Any, alpha: Any, beta: Any) -> Any:
    """Sums are `or`, products `and`; numbers are true but for 0."""
    x, y = (m(cast(m.b, v.value, dtype="i64")) for v in (x, y))
    made = m.gt(combine(m, x, y), 0)
    shape = made.value.type.static_shape()
    made = made if alpha else m.number(False, made.value.type)
    return m.or_(m(widen(m.b, bias.value, shape)), made) if beta else made


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _check_matrices(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if len(a) != 2 or len(b) != 2:
        raise RuntimeError(f"{name}: mat1 and mat2 must be matrices, got {len(a)}-D and {len(b)}-D tensors")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")
    return a[0], b[1]


def _check_vector(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(a)}, {len(b)}")
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got mat ({_by(a)}), vec ({b[0]})")
    return (a[0],)


def _check_vectors(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"{name}: Expected 1-D argument vec1 and vec2, but got {len(a)}-D and {len(b)}-D")
    return a[0], b[0]


def _check_batches(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if len(a) < 2 or len(b) < 3:
        raise IndexError(f"{name}: Dimension out of range: batch1 and batch2 must be 3D, got {len(a)}D and {len(b)}D")
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError(f"{name}: batch1 and batch2 must be 3D tensors, got {len(a)}D and {len(b)}D")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]},"
            f" {b[1]}]."
        )
    return a[0], a[1], b[2]


def _adding(name: str, combine: Combine, check: Callable[..., tuple[int, ...]]) -> Any:
    operation = Operation(name, f"{name.capitalize()}Backward0", _added(_of_pairs(combine)))

    def function(input: Tensor, first: Tensor, second: Tensor, beta: float, alpha: float) -> Tensor:
        _check_dtypes(name, input, first, second, beta, alpha)
        made = check(name, shape_of(first), shape_of(second))
        made = made[1:] if name == "addbmm" else made
        have = shape_of(input)
        fits = all(n in (1, k) for n, k in zip(reversed(have), reversed(made), strict=False))
        if not fits or len(have) > len(made):
            raise RuntimeError(
                f"{name}: The expanded size of the tensor ({list(made)}) must match the existing size ({list(have)})"
            )
        if not first._kind_of().is_float:
            beta, alpha = int(beta), int(alpha)
        return apply(operation, (input, first, second), (beta, alpha))

    return function


def _check_dtypes(name: str, input: Any, first: Any, second: Any, beta: Any, alpha: Any) -> None:
    for each in (input, first, second):
        if not isinstance(each, Core):
            raise TypeError(f"{name}(): expected Tensors, got {type(each).__name__}")
    a, b, c = (x._kind_of().dtype for x in (first, second, input))
    if a != b:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {C_NAMES[a]} != {C_NAMES[b]}")
    if a != c:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {ALL[c]} and {ALL[b]}")
    if name == "addr" and not first._kind_of().is_float and (isinstance(beta, float) or isinstance(alpha, float)):
        raise RuntimeError(f"{name}: For integral input tensors, alpha and beta must not be floating point numbers.")


_addmm = _adding("addmm", _contracted((1,), (0,)), _check_matrices)
_addmv = _adding("addmv", _contracted((1,), (0,)), _check_vector)
_addr = _adding("addr", _contracted((), ()), _check_vectors)
_baddbmm = _adding("baddbmm", _contracted((2,), (1,), True), _check_batches)
_addbmm = _adding("addbmm", _summed, _check_batches)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *older: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), where the first may broadcast."""
    if older:
        return older_order(addmm, 3, ("beta", "alpha"), input, mat1, mat2, *older)
    return _addmm(input, mat1, mat2, beta, alpha)


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *older: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    if older:
        return older_order(addmv, 3, ("beta", "alpha"), input, mat, vec, *older)
    return _addmv(input, mat, vec, beta, alpha)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *older: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (the outer product of two vectors)."""
    if older:
        return older_order(addr, 3, ("beta", "alpha"), input, vec1, vec2, *older)
    return _addr(input, vec1, vec2, beta, alpha)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *older: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (the products of two batches of matrices)."""
    if older:
        return older_order(baddbmm, 3, ("beta", "alpha"), input, batch1, batch2, *older)
    return _baddbmm(input, batch1, batch2, beta, alpha)


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *older: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (the sum of the products of two batches of matrices)."""
    if older:
        return older_order(addbmm, 3, ("beta", "alpha"), input, batch1, batch2, *older)
    return _addbmm(input, batch1, batch2, beta, alpha)
