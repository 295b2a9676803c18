"""Matrix products, inner products and einsum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...compiler.ops.contract import contract
from ...compiler.ops.reduce import sum_
from ...compiler.ops.shape import reshape, transpose
from .arithmetic import mul
from .core import apply
from .fragments import Operation, widen
from .promotion import common_shape
from .shapes import expand, shape_of, unsqueeze
from .shapes import reshape as reshaped

if TYPE_CHECKING:
    from .tensor import Tensor

UNSAFE_VIEW = Operation("view", "UnsafeViewBackward0", lambda m, x, shape: _reshape(m, x, shape))
SQUEEZE = Operation("squeeze", "SqueezeBackward4", lambda m, x, shape: _reshape(m, x, shape))

C_NAMES = {"f32": "float", "f64": "double", "i32": "int", "i64": "long", "bool": "bool"}


def _reshape(m: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return m(reshape(m.b, x.value, shape=shape))


def _product(left: int, right: int, batch: int = 0) -> Any:
    """The product over axis `left` of one and `right` of the other, after `batch` common axes."""
    attrs: dict[str, Any] = {"left": (left,), "right": (right,)}
    if batch:
        attrs["batch"] = tuple((k, k) for k in range(batch))

    def emit(m: Any, x: Any, y: Any) -> Any:
        return m(contract(m.b, x.value, y.value, **attrs))

    return emit


DOT = Operation("dot", "DotBackward0", _product(0, 0))
MV = Operation("mv", "MvBackward0", _product(1, 0))
MM = Operation("mm", "MmBackward0", _product(1, 0))
BMM = Operation("bmm", "BmmBackward0", _product(2, 1, 1))


def _addmm(m: Any, bias: Any, x: Any, y: Any) -> Any:
    made = _product(1, 0)(m, x, y)
    return made + m(widen(m.b, bias.value, made.value.type.static_shape()))


ADDMM = Operation("addmm", "AddmmBackward0", _addmm)


def _same_dtype(x: Tensor, y: Tensor, names: str = "m1 and m2") -> None:
    a, b = x._read().kind.dtype, y._read().kind.dtype
    if a != b:
        raise RuntimeError(
            f"expected {names} to have the same dtype, but got: {C_NAMES[a]} != {C_NAMES[b]}"
        )
    if a == "bool":
        raise RuntimeError("matrix products of bool tensors are not supported; convert them first")


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    a, b = shape_of(input), shape_of(mat2)
    for name, shape in (("self", a), ("mat2", b)):
        if len(shape) != 2:
            raise RuntimeError(f"{name} must be a matrix")
    _same_dtype(input, mat2)
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")
    return apply(MM, (input, mat2))


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    a, b = shape_of(input), shape_of(vec)
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(a)}, {len(b)}")
    _same_dtype(input, vec)
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({_by(a)}), vec ({b[0]})")
    return apply(MV, (input, vec))


def dot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors."""
    a, b = shape_of(input), shape_of(other)
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    _same_dtype(input, other, "both vectors")
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same number"
            f" of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    return apply(DOT, (input, other))


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    a, b = shape_of(input), shape_of(mat2)
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError("batch1 and batch2 must be 3D tensors")
    _same_dtype(input, mat2)
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got:"
            f" [{b[0]}, {b[1]}]."
        )
    return apply(BMM, (input, mat2))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    """input + mat1 @ mat2, where the first may broadcast."""
    a, b = shape_of(mat1), shape_of(mat2)
    if len(a) != 2 or len(b) != 2:
        raise RuntimeError(f"mat1 and mat2 must be matrices, got {len(a)}-D and {len(b)}-D tensors")
    _same_dtype(mat1, mat2, "mat1 and mat2")
    _same_dtype(input, mat1, "self and mat2")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")
    return apply(ADDMM, (input, mat1, mat2))


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices or batches of matrices, in the steps that PyTorch's graph shows."""
    a, b = shape_of(input), shape_of(other)
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    if len(a) == 1 and len(b) == 1:
        return dot(input, other)
    if len(a) == 2 and len(b) == 1:
        return mv(input, other)
    if len(a) == 1 and len(b) == 2:
        made = mm(unsqueeze(input, 0), other)
        return apply(SQUEEZE, (made,), ((b[1],),))
    if len(a) == 2 and len(b) == 2:
        return mm(input, other)
    return _batched(input, other, a, b)


def _batched(input: Tensor, other: Tensor, a: tuple[int, ...], b: tuple[int, ...]) -> Tensor:
    if len(b) <= 2:
        flat = reshaped(input, -1, a[-1])
        made = mm(flat, other) if len(b) == 2 else mv(flat, other)
        return apply(UNSAFE_VIEW, (made,), ((*a[:-1], *b[1:]),))
    if len(a) == 1:
        made = _batched(unsqueeze(input, 0), other, (1, *a), b)
        return apply(UNSAFE_VIEW, (made,), ((*b[:-2], *b[-1:]),))
    (m, k), (rows, n) = a[-2:], b[-2:]
    lead = common_shape([a[:-2], b[:-2]])
    if k != rows:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {rows}x{n})")
    left = reshaped(_expanded(input, (*lead, m, k)), -1, m, k)
    right = reshaped(_expanded(other, (*lead, k, n)), -1, k, n)
    return apply(UNSAFE_VIEW, (bmm(left, right),), ((*lead, m, n),))


def _expanded(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return x if shape_of(x) == shape else expand(x, shape)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector with one of the other."""
    if len(shape_of(input)) != 1 or len(shape_of(vec2)) != 1:
        raise RuntimeError("outer: Expected 1-D arguments")
    return mul(reshaped(input, -1, 1), vec2)


# ---- einsum


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sums of products, written as in `einsum("ij,jk->ik", a, b)`, of one or two tensors at a time."""
    terms, result = _parsed(equation, [len(shape_of(x)) for x in operands])
    tensors = list(operands)
    while len(tensors) > 1:
        x, y = tensors.pop(0), tensors.pop(0)
        a, b = terms.pop(0), terms.pop(0)
        later = set(result).union(*terms)
        kept = "".join(dict.fromkeys(c for c in a + b if c in later))
        tensors.append(_checked(equation, [(a, x), (b, y)], kept))
        terms.append(kept)
    if terms == [result]:
        return tensors[0]
    return _checked(equation, [(terms[0], tensors[0])], result)


def _parsed(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = "".join(terms)
    if not arrow:
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if not (letters + result).replace(",", "").isalpha() and letters:
        raise RuntimeError(f"einsum: {equation!r} is not like 'ij,jk->ik'")
    if len(terms) != len(ranks) or [len(t) for t in terms] != ranks:
        raise RuntimeError(f"einsum: {equation!r} does not fit tensors of {ranks} dimensions")
    if len(set(result)) != len(result) or not set(result) <= set(letters):
        raise RuntimeError(f"einsum: the result {result!r} must name each index of {left!r} at most once")
    return terms, result


def _checked(equation: str, pairs: list[tuple[str, Tensor]], result: str) -> Tensor:
    known: dict[str, int] = {}
    for term, x in pairs:
        if len(set(term)) != len(term):
            raise NotImplementedError(f"einsum: {equation!r} repeats an index within {term!r}")
        for c, n in zip(term, shape_of(x), strict=True):
            if known.setdefault(c, n) != n:
                raise RuntimeError(f"einsum: index {c!r} has sizes {known[c]} and {n} in {equation!r}")
    operation = EINSUM[len(pairs)]
    return apply(operation, [x for _, x in pairs], (*(t for t, _ in pairs), result))


def _einsum_two(m: Any, x: Any, y: Any, a: str, b: str, result: str) -> Any:
    x, a = _summed(m, x, a, set(b) | set(result))
    y, b = _summed(m, y, b, set(a) | set(result))
    batch = [c for c in a if c in b and c in result]
    inner = [c for c in a if c in b and c not in result]
    made = contract(
        m.b,
        x.value,
        y.value,
        left=tuple(map(a.index, inner)),
        right=tuple(map(b.index, inner)),
        batch=tuple((a.index(c), b.index(c)) for c in batch),
    )
    have = "".join(batch) + "".join(c for c in a if c not in b) + "".join(c for c in b if c not in a)
    return _arranged(m, m(made), have, result)


def _einsum_one(m: Any, x: Any, a: str, result: str) -> Any:
    x, a = _summed(m, x, a, set(result))
    return _arranged(m, x, a, result)


def _summed(m: Any, x: Any, letters: str, kept: set[str]) -> tuple[Any, str]:
    axes = tuple(k for k, c in enumerate(letters) if c not in kept)
    if not axes:
        return x, letters
    return m(sum_(m.b, x.value, axes=axes)), "".join(c for c in letters if c in kept)


def _arranged(m: Any, x: Any, have: str, result: str) -> Any:
    return x if have == result else m(transpose(m.b, x.value, axes=tuple(map(have.index, result))))


EINSUM = {
    1: Operation("einsum", "PermuteBackward0", _einsum_one),
    2: Operation("einsum", "ViewBackward0", _einsum_two),
}
