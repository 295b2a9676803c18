"""Sums of products over named or numbered dimensions: einsum, tensordot, inner, kron."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from string import ascii_letters
from typing import Any

from .....compiler.ops.contract import contract
from .....compiler.ops.elementwise import cast
from .....compiler.ops.reduce import sum_
from .....compiler.ops.shape import reshape, transpose
from ...face.required import check_list, check_tensors
from ...trace.fragments.fragments import Operation
from ...value.axes import axis_of
from ...value.core import Core, Tensor, apply
from ...value.paths import take
from ..arranging.shapes import shape_of
from .products import C_NAMES, dot, mm, same_dtype


def einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products, written as in `einsum("ij,jk->ik", a, b)`; two tensors are multiplied at a time.

    A repeated letter in one term is a diagonal, `...` stands for dimensions that broadcast, and lists of numbers
    after each tensor may be given instead of letters.
    """
    if not operands:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or operands and lists")
    if not isinstance(equation, str):
        equation, operands = _spelled(equation, operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    tensors = check_list("einsum", operands)
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    terms, result = _parsed(equation, [len(shape_of(x)) for x in tensors])
    _check_sizes(equation, terms, tensors)
    while len(tensors) > 1:
        x, y, a, b = tensors.pop(0), tensors.pop(0), terms.pop(0), terms.pop(0)
        later = set(result).union(*terms)
        kept = "".join(dict.fromkeys(c for c in a + b if c in later))
        tensors.insert(0, apply(EINSUM[2], [x, y], (a, b, kept)))
        terms.insert(0, kept)
    if terms == [result]:
        return tensors[0]
    return apply(EINSUM[1], tensors, (terms[0], result))


def _spelled(first: Any, rest: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """The letters for lists of numbers: tensor, list, tensor, list, ..., and perhaps the result's list."""
    given = [first, *rest]
    if len(given) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or operands and lists")
    result = given.pop() if len(given) % 2 else None
    tensors, lists = given[::2], given[1::2]

    def word(numbers: Any) -> str:
        return "".join("..." if n is Ellipsis else ascii_letters[index(n)] for n in numbers)

    equation = ",".join(map(word, lists))
    return (equation if result is None else f"{equation}->{word(result)}"), tuple(tensors)


def _parsed(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """A letter for each dimension of each tensor, and of the result; digits for those that `...` stands for."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    plain = (left + result).replace("...", "").replace(",", "")
    if (plain and not (plain.isalpha() and plain.isascii())) or "," in result:
        raise RuntimeError(f"einsum(): {equation!r} is not like 'ij,jk->ik'")
    if len(terms) != len(ranks):
        what = "more" if len(terms) < len(ranks) else "fewer"
        raise RuntimeError(f"einsum(): {what} operands were provided than specified in the equation {equation!r}")
    hidden = 0
    for term, rank in zip(terms, ranks, strict=True):
        named = len(term.replace("...", ""))
        if term.count("...") > 1 or named > rank or ("..." not in term and named != rank):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of"
                f" dimensions ({rank}) for the operand {term!r}"
            )
        hidden = max(hidden, rank - named)
    digits = "".join(chr(ord("\u0100") + k) for k in range(hidden))
    made = []
    for term, rank in zip(terms, ranks, strict=True):
        n = rank - len(term.replace("...", ""))
        made.append(term.replace("...", digits[hidden - n :] if n else ""))
    letters = left.replace(",", "").replace("...", "")
    if not arrow:
        result = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if result.count("...") > 1 or any(result.replace("...", "").count(c) > 1 for c in result.replace("...", "")):
        raise RuntimeError(f"einsum(): a subscript appears more than once in the output of {equation!r}")
    result = result.replace("...", digits)
    if not set(result) <= set("".join(made)):
        raise RuntimeError(f"einsum(): the output of {equation!r} must name subscripts that an operand has")
    return made, result


def _check_sizes(equation: str, terms: list[str], tensors: list[Any]) -> None:
    """Sizes of one letter agree; 1 broadcasts.  Dtypes agree."""
    known: dict[str, int] = {}
    for k, (term, x) in enumerate(zip(terms, tensors, strict=True)):
        shape = shape_of(x)
        for c, n in zip(term, shape, strict=True):
            have = known.setdefault(c, n)
            if have not in (n, 1) and n != 1:
                raise RuntimeError(
                    f"einsum(): subscript {c} has sizes {have} and {n}, at operand {k} of {equation!r}, which do not"
                    " broadcast"
                )
            known[c] = max(have, n) if 0 not in (have, n) else 0
        for c in set(term):
            if len({n for d, n in zip(term, shape, strict=True) if d == c}) > 1:
                raise RuntimeError(f"einsum(): subscript {c} is repeated for operand {k} but the sizes don't match")
    for x in tensors[1:]:
        a, b = tensors[0]._kind_of().dtype, x._kind_of().dtype
        if a != b:
            raise RuntimeError(f"expected scalar type {C_NAMES[a].capitalize()} but found {C_NAMES[b].capitalize()}")


def _tidied(m: Any, x: Any, letters: str) -> tuple[Any, str]:
    """Diagonals taken where letters repeat."""
    while len(set(letters)) != len(letters):
        c = next(c for c in letters if letters.count(c) > 1)
        a, b = letters.index(c), letters.rindex(c)
        shape = x.value.type.static_shape()
        order = (*(k for k in range(len(shape)) if k not in (a, b)), a, b)
        x = m(take(m.b, x.value, (("transpose", order), ("diagonal", 0))))
        letters = "".join(letters[k] for k in order[:-1])
    return x, letters


def _narrowed(m: Any, x: Any, letters: str, wide: dict[str, int]) -> tuple[Any, str]:
    """Without the dimensions of size one that broadcast to more."""
    shape = x.value.type.static_shape()
    kept = [k for k, c in enumerate(letters) if shape[k] == wide.get(c, shape[k])]
    if len(kept) == len(letters):
        return x, letters
    return m(reshape(m.b, x.value, shape=tuple(shape[k] for k in kept))), "".join(letters[k] for k in kept)


def _einsum_two(m: Any, x: Any, y: Any, a: str, b: str, result: str) -> Any:
    x, a = _tidied(m, x, a)
    y, b = _tidied(m, y, b)
    wide: dict[str, int] = {}
    for letters, v in ((a, x), (b, y)):
        for c, n in zip(letters, v.value.type.static_shape(), strict=True):
            wide[c] = n if wide.get(c, 1) == 1 else wide[c]
    x, a = _narrowed(m, x, a, wide)
    y, b = _narrowed(m, y, b, wide)
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
    x, a = _tidied(m, x, a)
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


# ---- dimensions by number


def inner(input: Any, other: Any) -> Any:
    """The sums of products over the last dimension of both."""
    a, b = shape_of(input), shape_of(other)
    if not a or not b:
        return input * other
    if a[-1] != b[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    if len(a) == len(b) == 1:
        return dot(input, other)
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products over dimensions of one and the other: so many, or two lists."""
    first, second = shape_of(a), shape_of(b)
    if isinstance(dims, Core):
        dims = dims._array().tolist()
    if isinstance(dims, (list, tuple)):
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    else:
        n = index(dims)
        if n < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={n}")
        if n > min(len(first), len(second)):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={n}")
        left, right = list(range(len(first) - n, len(first))), list(range(n))
    if len(left) != len(right):
        raise RuntimeError(f"both dimension lists should have same length, got {left} and {right}")
    left, right = [axis_of(d, len(first)) for d in left], [axis_of(d, len(second)) for d in right]
    for i, j in zip(left, right, strict=True):
        if first[i] != second[j] and 1 not in (first[i], second[j]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {first[i]} in dim {i} and second has size"
                f" {second[j]} in dim {j}"
            )
    same_dtype(a, b, "both inputs")
    return apply(TENSORDOT, (a, b), (tuple(left), tuple(right)))


def _tensordot(m: Any, x: Any, y: Any, left: tuple[int, ...], right: tuple[int, ...]) -> Any:
    for i, j in zip(left, right, strict=True):
        if x.value.type.shape[i] != y.value.type.shape[j]:
            x, y = _first_if(m, x, i, y.value.type.shape[j]), _first_if(m, y, j, x.value.type.shape[i])
    return m(contract(m.b, x.value, y.value, left=left, right=right))


def _first_if(m: Any, x: Any, axis: int, n: int) -> Any:
    """The sum over an axis, kept, if the other side has one element there."""
    if n != 1:
        return x
    shape = x.value.type.static_shape()
    kept = tuple(1 if a == axis else k for a, k in enumerate(shape))
    return m(reshape(m.b, sum_(m.b, x.value, axes=(axis,)), shape=kept))


TENSORDOT = Operation("tensordot", "ViewBackward0", _tensordot)


def _kron(m: Any, x: Any, y: Any) -> Any:
    """Each element of one times the whole of the other, in its place."""
    a, b = x.value.type.static_shape(), y.value.type.static_shape()
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if x.value.type.dtype == "bool":
        wide = (m(cast(m.b, v.value, dtype="i64")) for v in (x, y))
        return m.gt(_kron(m, *wide), 0)
    made = contract(m.b, reshape(m.b, x.value, shape=a), reshape(m.b, y.value, shape=b), left=(), right=())
    order = tuple(k for n in range(rank) for k in (n, rank + n))
    return m(reshape(m.b, transpose(m.b, made, axes=order), shape=tuple(n * k for n, k in zip(a, b, strict=True))))


KRON = Operation("kron", "UnsafeViewBackward0", _kron, "common")


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of `input` times `other`, side by side."""
    check_tensors("kron", input=input, other=other)
    return apply(KRON, (input, other))


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices."""
    parts = check_list("chain_matmul", matrices)
    if not parts:
        raise RuntimeError("chain_matmul(): expected at least one matrix")
    for x in parts:
        if len(shape_of(x)) != 2:
            raise RuntimeError(f"Tensor dimension is {len(shape_of(x))}, expected 2 instead.")
    made = parts[0]
    for x in parts[1:]:
        made = mm(made, x)
    return made
