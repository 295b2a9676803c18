"""Types of values: an element kind and a shape, whose dimensions are integers or sizes known by name.

One type holds no numbers: `tape[]`, a stack of records on which a loop's forward sweep saves what its backward sweep
reads.
"""

import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

DTYPES: dict[str, np.dtype] = {
    "bool": np.dtype(np.bool_),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
HALVES: dict[str, np.dtype] = {"f16": np.dtype(np.float16)}
"""Floats of 16 bits; NumPy has no bfloat16 of its own, so there is one where ml_dtypes is installed."""

with suppress(ImportError):
    from ml_dtypes import bfloat16

    HALVES["bf16"] = np.dtype(bfloat16)

CARRIED: dict[str, np.dtype] = {
    "u8": np.dtype(np.uint8), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64), **HALVES,
}  # fmt: skip
"""Numbers that native code only stores, moves and casts: a wider one carries them (`passes.carried`)."""

CARRIER = {
    "u8": "i32", "i8": "i32", "i16": "i32", "u16": "i32", "u32": "i64", "u64": "i64", "f16": "f32", "bf16": "f32",
}  # fmt: skip
"""The dtype in which they are computed with; i64 has the bits of u64."""

COMPLEX: dict[str, np.dtype] = {"c64": np.dtype(np.complex64), "c128": np.dtype(np.complex128)}
"""Only of values that are being traced: a finished trace has pairs of real values in their place (`passes.complex`)."""

PARTS = {"c64": "f32", "c128": "f64"}
"""The dtype of the real and of the imaginary parts."""

STORED = DTYPES | CARRIED
NAMES = {dtype: name for name, dtype in STORED.items()}
KNOWN = ", ".join([str(dtype) for name, dtype in STORED.items() if name != "bf16"])
"""The dtypes of NumPy's that there are, in messages."""

TRACED = NAMES | {dtype: name for name, dtype in COMPLEX.items()}
"""Names of the dtypes that traced values can have."""

HELD = STORED | COMPLEX
"""The dtypes of arrays that come and go."""

FLOATS = ("f32", "f64")
FLOATING = (*HALVES, *FLOATS)
"""All real floats; native code computes with `FLOATS`."""

INTEGERS = ("i32", "i64")
MAX_RANK = 32
MAX_ELEMENTS = 2**46
MAX_FACTOR = 2**63
"""Above all numbers of a size in text."""

DIGITS = 19
"""Digits of the largest of them."""


@dataclass(frozen=True, slots=True)
class Size:
    """An integer polynomial in named sizes, in normal form: equal sizes compare equal.

    `terms` maps a sorted tuple of names to its coefficient, as a sorted tuple of pairs; arithmetic that
    ends in a plain number gives an `int`.
    """

    terms: tuple[tuple[tuple[str, ...], int], ...]

    @staticmethod
    def named(name: str) -> "Size":
        """The size called `name`, an identifier."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in ("inf", "nan", "true", "false"):
            raise ValueError(f"a size needs an identifier as its name, got {name!r}")
        return Size((((name,), 1),))

    def __add__(self, other: "Dim") -> "Dim":
        return _collect([*self.terms, *_terms(other)])

    def __mul__(self, other: "Dim") -> "Dim":
        return _collect(
            (tuple(sorted(a + b)), m * n) for a, m in self.terms for b, n in _terms(other)
        )

    def __neg__(self) -> "Dim":
        return self * -1

    def __sub__(self, other: "Dim") -> "Dim":
        return self + other * -1

    def __rsub__(self, other: int) -> "Dim":
        return self * -1 + other

    __radd__, __rmul__ = __add__, __mul__

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number this size stands for when its names have the values `sizes`."""
        total = 0
        for names, factor in self.terms:
            for name in names:
                factor *= sizes[name]
            total += factor
        return total

    def __str__(self) -> str:
        parts = []
        for names, factor in sorted(self.terms, key=lambda t: (-len(t[0]), t[0])):
            body = "*".join(names)
            if body and abs(factor) != 1:
                body = f"{abs(factor)}*{body}"
            parts.append(("-" if factor < 0 else "+") + (body or str(abs(factor))))
        return "".join(parts).removeprefix("+")


Dim = int | Size


def _terms(dim: Dim) -> tuple[tuple[tuple[str, ...], int], ...]:
    return dim.terms if isinstance(dim, Size) else (((), int(dim)),)


def _collect(terms: Iterable[tuple[tuple[str, ...], int]]) -> Dim:
    total: dict[tuple[str, ...], int] = {}
    for names, factor in terms:
        total[names] = total.get(names, 0) + factor
    kept = tuple(sorted((n, f) for n, f in total.items() if f))
    if not kept:
        return 0
    return kept[0][1] if kept[0][0] == () and len(kept) == 1 else Size(kept)


def exactly(dim: Dim, divisor: Dim | None) -> Dim | None:
    """A dimension divided by a positive one where that is a polynomial again: long division; None where it is not."""
    if divisor is None or (parts := _leading(divisor))[1] <= 0:
        return None
    (names, factor), total, left = parts, 0, dim
    while left != 0:
        mine, f = _leading(left)
        rest = list(mine)
        for name in names:
            if name not in rest:
                return None
            rest.remove(name)
        if f % factor:
            return None
        term = Size(((tuple(rest), f // factor),)) if rest else f // factor
        total, left = total + term, left - term * divisor
    return total


def _leading(dim: Dim) -> tuple[tuple[str, ...], int]:
    """The term of most names, and of those the last in the order of names."""
    return max(dim.terms, key=lambda term: (len(term[0]), term[0])) if isinstance(dim, Size) else ((), dim)


def parse_dim(text: str) -> Dim:
    """The dimension that prints as `text`."""
    if not re.fullmatch(r"-?[\w*]+([+-][\w*]+)*", text):
        raise ValueError(f"{text!r} is not a dimension")
    terms: list[tuple[tuple[str, ...], int]] = []
    for sign, body in re.findall(r"([+-]?)([^+-]+)", text):
        names, number = [], -1 if sign == "-" else 1
        for factor in body.split("*"):
            if not factor.isdecimal():
                names.append(Size.named(factor).terms[0][0][0])
            elif len(factor) > DIGITS or abs(number := number * int(factor)) >= MAX_FACTOR:
                raise ValueError("a number of a size is less than 2**63")
        terms.append((tuple(sorted(names)), number))
    found = _collect(terms)
    if any(abs(number) >= MAX_FACTOR for _, number in _terms(found)):
        raise ValueError("a number of a size is less than 2**63")
    return found


def count(shape: Iterable[Dim]) -> Dim:
    """How many elements an array of this shape has."""
    n: Dim = 1
    for d in shape:
        n = d * n
    return n


class Type:
    """An element kind and a shape: `f64[3,n]`.  Equal types compare equal."""

    __slots__ = ("dtype", "shape", "is_tape", "_has_names", "_hash")

    def __init__(self, dtype: str, shape: tuple[Dim, ...] = ()) -> None:
        if dtype not in HELD and (dtype != "tape" or shape):
            raise TypeError(f"unknown dtype {dtype!r}; there are {', '.join(STORED)}")
        if len(shape) > MAX_RANK:
            raise TypeError(f"an array has at most {MAX_RANK} axes, got {len(shape)}")
        elements, names = 1, False
        for d in shape:
            if isinstance(d, int):
                if d < 0:
                    raise TypeError(f"a dimension cannot be negative, got shape {shape}")
                elements *= max(d, 1)
            names = names or isinstance(d, Size)
        if elements > MAX_ELEMENTS:
            raise TypeError(f"shape {shape} has more than 2**46 elements")
        self.dtype, self.shape = dtype, shape
        self.is_tape, self._has_names = dtype == "tape", names
        try:
            self._hash: int | None = hash((dtype, shape))
        except TypeError:  # with SymInts that no table may be asked for
            self._hash = None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Type) and self.dtype == other.dtype and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return self._hash if self._hash is not None else hash((self.dtype, self.shape))  # which fails

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    __repr__ = __str__

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        return count(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATING

    @property
    def is_complex(self) -> bool:
        return self.dtype in COMPLEX

    @property
    def numpy(self) -> np.dtype:
        return HELD[self.dtype]

    def with_shape(self, shape: Iterable[Dim]) -> "Type":
        return _type_of(self.dtype, tuple(shape))

    def with_dtype(self, dtype: str) -> "Type":
        return self if dtype == self.dtype else _type_of(dtype, self.shape)

    def at(self, sizes: Mapping[str, int]) -> "Type":
        """The type with numbers in place of named sizes."""
        if all(isinstance(d, int) for d in self.shape):
            return self
        return self.with_shape(d.at(sizes) if isinstance(d, Size) else d for d in self.shape)

    def static_size(self) -> int:
        """How many elements it has, where all of its shape is numbers."""
        return math.prod(self.static_shape())

    def static_shape(self) -> tuple[int, ...]:
        """The shape where every dimension must be a number; raises TypeError if one is symbolic."""
        if self._has_names:
            raise TypeError(f"{self} has a symbolic size where a number is needed")
        return self.shape  # type: ignore[return-value]


_known_type = functools.lru_cache(maxsize=4096)(Type)
"""Most types of a graph are types that it has already: found in a third of the time of making and checking them."""

_NUMBERS = {int}


def _type_of(dtype: str, shape: tuple[Dim, ...]) -> Type:
    """The type; one whose extents are no plain numbers is another one each time, for extents that are equal differ."""
    return _known_type(dtype, shape) if set(map(type, shape)) <= _NUMBERS else Type(dtype, shape)


TAPE = Type("tape")


def type_of(array: object) -> Type:
    """The type of a NumPy array or scalar; raises TypeError for an element kind the graph has not."""
    a = np.asarray(array)
    name = NAMES.get(a.dtype)
    if name is None:
        raise TypeError(f"arrays of dtype {a.dtype} are not supported; use {', '.join(STORED)}")
    return Type(name, a.shape)


def sizes_in(value: object) -> Iterator[str]:
    """The names of sizes in an attribute or a type."""
    if isinstance(value, Size):
        yield from (name for names, _ in value.terms for name in names)
    elif isinstance(value, (tuple, Type)):
        for each in value.shape if isinstance(value, Type) else value:
            yield from sizes_in(each)


def parse_type(text: str) -> Type:
    """The type that prints as `text`."""
    m = re.fullmatch(r"(\w+)\[([\w*+,-]*)\]", text)
    if m is None or (m[1] not in HELD and m[1] != "tape"):
        raise ValueError(f"{text!r} is not a type")
    return Type(m[1], tuple(parse_dim(d) for d in m[2].split(",")) if m[2] else ())
