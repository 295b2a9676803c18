"""What a native entry accepts and returns: trees of specifications.

Leaves other than `StaticSpec`, in depth-first order, are the inputs of the kernel; the numbers in
result leaves count the kernel's results.

    (FloatSpec(), DictSpec(("w", "b"), (ArraySpec("f64", (5, 3)), ArraySpec("f64", (3,)))))
    TupleResult((FloatResult(0), DictResult(("w",), (ArrayResult(1, "f64", (5, 3)),))))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...ir.types import HELD, Size


@dataclass(frozen=True)
class FloatSpec:
    """Exactly a Python float; the kernel reads an f64."""


@dataclass(frozen=True)
class IntSpec:
    """Exactly a Python int of at most 64 bits; the kernel reads an i64."""


@dataclass(frozen=True)
class ScalarSpec:
    """Exactly a NumPy scalar of this dtype, one of `IN_PLACE`; the kernel reads it where it lies in the object."""

    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in IN_PLACE:
            raise ValueError(f"dtype is {self.dtype!r}, expected one of {', '.join(IN_PLACE)}")


IN_PLACE = ("f64", "i64", "f32", "i32")
"""NumPy scalars whose number lies where that of a Python float does."""


@dataclass(frozen=True)
class ArraySpec:
    """Exactly a numpy.ndarray of this dtype and shape: C-contiguous, aligned, native byte order.

    Dimensions are numbers; in functions of modules they may be sizes known by name.
    """

    dtype: str
    shape: tuple[Any, ...]

    def __post_init__(self) -> None:
        _check_array(self.dtype, self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return math.prod(self.shape) * HELD[self.dtype].itemsize


class _Identity:
    """Equal to another of its class that holds the very same object."""

    value: object

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.value is self.value

    def __hash__(self) -> int:
        return hash((type(self), id(self.value)))


@dataclass(frozen=True, eq=False)
class StaticSpec(_Identity):
    """This very object; it is no input of the kernel."""

    value: object


@dataclass(frozen=True)
class DictSpec:
    """Exactly a dict with these string keys, in any order; the items are in the order of `keys`."""

    keys: tuple[str, ...]
    items: tuple[Spec, ...]

    def __post_init__(self) -> None:
        _check_keys(self.keys, self.items)


@dataclass(frozen=True)
class ListSpec:
    """Exactly a list of this length."""

    items: tuple[Spec, ...]


@dataclass(frozen=True)
class TupleSpec:
    """Exactly a tuple of this length, or one of a subclass whose objects have no attributes of their own."""

    items: tuple[Spec, ...]
    kind: type = tuple


@dataclass(frozen=True)
class RecordSpec:
    """Exactly an object of this class, whose attributes, all in its dict, have these names."""

    names: tuple[str, ...]
    items: tuple[Spec, ...]
    kind: type

    def __post_init__(self) -> None:
        _check_keys(self.names, self.items)


Container: TypeAlias = DictSpec | ListSpec | TupleSpec | RecordSpec
Spec: TypeAlias = FloatSpec | IntSpec | ScalarSpec | ArraySpec | StaticSpec | Container
Input: TypeAlias = FloatSpec | IntSpec | ScalarSpec | ArraySpec


@dataclass(frozen=True)
class FloatResult:
    """A Python float; the kernel writes an f64."""

    index: int


@dataclass(frozen=True)
class IntResult:
    """A Python int; the kernel writes an i64."""

    index: int


@dataclass(frozen=True)
class BoolResult:
    """A Python bool; the kernel writes a byte."""

    index: int


@dataclass(frozen=True)
class ScalarResult:
    """A NumPy scalar."""

    index: int
    dtype: str

    def __post_init__(self) -> None:
        _check_array(self.dtype, ())


@dataclass(frozen=True)
class ArrayResult:
    """A fresh, C-contiguous numpy.ndarray, whose dimensions are as those of `ArraySpec`."""

    index: int
    dtype: str
    shape: tuple[Any, ...]

    def __post_init__(self) -> None:
        _check_array(self.dtype, self.shape)


@dataclass(frozen=True, eq=False)
class ConstantResult(_Identity):
    """This very object."""

    value: object


@dataclass(frozen=True)
class DictResult:
    """A fresh dict."""

    keys: tuple[str, ...]
    items: tuple[Result, ...]

    def __post_init__(self) -> None:
        _check_keys(self.keys, self.items)


@dataclass(frozen=True)
class ListResult:
    """A fresh list."""

    items: tuple[Result, ...]


@dataclass(frozen=True)
class TupleResult:
    """A tuple."""

    items: tuple[Result, ...]


@dataclass(frozen=True)
class MadeResult:
    """What a Python function makes of the items, which it is called with: a container of another class."""

    make: Callable[..., object]
    items: tuple[Result, ...]


NumberResult: TypeAlias = FloatResult | IntResult | BoolResult | ScalarResult
ContainerResult: TypeAlias = DictResult | ListResult | TupleResult | MadeResult
Result: TypeAlias = NumberResult | ArrayResult | ConstantResult | ContainerResult

CONTAINERS = (DictSpec, ListSpec, TupleSpec, RecordSpec)
CONTAINER_RESULTS = (DictResult, ListResult, TupleResult, MadeResult)


def input_specs(args: tuple[Spec, ...]) -> list[Input]:
    """The kernel's inputs, in order."""
    pending, inputs = list(reversed(args)), []
    while pending:
        spec = pending.pop()
        if isinstance(spec, CONTAINERS):
            pending.extend(reversed(spec.items))
        elif not isinstance(spec, StaticSpec):
            inputs.append(spec)
    return inputs


def children_first(result: Result) -> Iterator[Result]:
    """Every node of a result tree after its items, as a stack machine would make them."""
    pending: list[tuple[Result, bool]] = [(result, False)]
    while pending:
        node, visited = pending.pop()
        if isinstance(node, CONTAINER_RESULTS) and not visited:
            pending.append((node, True))
            pending.extend((item, False) for item in reversed(node.items))
        else:
            yield node


def kernel_results(result: Result) -> list[NumberResult | ArrayResult]:
    """The kernel's results, in order; each must be in the tree, with one kind."""
    found: dict[int, NumberResult | ArrayResult] = {}
    for node in children_first(result):
        if isinstance(node, (*CONTAINER_RESULTS, ConstantResult)):
            continue
        if found.setdefault(node.index, node) != node:
            raise ValueError(f"result {node.index} is both {found[node.index]} and {node}")
    if sorted(found) != list(range(len(found))):
        raise ValueError(f"results {sorted(found)} are in the tree, expected 0 to n - 1")
    return [found[index] for index in range(len(found))]


@dataclass(frozen=True)
class Target:
    """Where a part of a result goes.

    path     the way to it through an `out=` argument
    spec     what stands there
    whole    no part of it is None, so it stands for the part of the result; other containers are made fresh
    within   a container around it is whole
    """

    path: tuple[int, ...]
    spec: ArraySpec | Container
    whole: bool
    within: bool


def targets(result: Result, out: Spec) -> list[Target | None]:
    """For every node of a result, in the order of `children_first`, its place in an `out=` argument of the
    specification `out`. What belongs to a None there has no place."""
    made: list[Target | None] = []
    pending: list[tuple[Result, Target | None, bool]] = [(result, _target((), out, False), False)]
    while pending:
        node, target, visited = pending.pop()
        if not isinstance(node, CONTAINER_RESULTS) or visited:
            made.append(target)
            continue
        pending.append((node, target, True))
        parts: list[Target | None] = [None] * len(node.items)
        if target and not isinstance(target.spec, ArraySpec):
            inner = enumerate(target.spec.items)
            parts = [_target((*target.path, k), part, target.whole) for k, part in inner]
        pending.extend(reversed([(item, part, False) for item, part in zip(node.items, parts, strict=True)]))
    return made


def _target(path: tuple[int, ...], spec: Spec, within: bool) -> Target | None:
    if not isinstance(spec, (ArraySpec, *CONTAINERS)):
        return None
    return Target(path, spec, within or _whole(spec), within)


def _whole(spec: Spec) -> bool:
    pending = [spec]
    while pending:
        each = pending.pop()
        if isinstance(each, StaticSpec):
            return False
        if isinstance(each, CONTAINERS):
            pending.extend(each.items)
    return True


def _check_array(dtype: str, shape: tuple[Any, ...]) -> None:
    if dtype not in HELD:
        raise ValueError(f"dtype is {dtype!r}, expected one of {', '.join(HELD)}")
    if not all(isinstance(size, Size) or (type(size) is int and size >= 0) for size in shape):
        raise ValueError(f"shape is {shape}, expected sizes of at least 0")


def _check_keys(keys: tuple[str, ...], items: tuple[object, ...]) -> None:
    if not all(type(key) is str for key in keys) or len(set(keys)) != len(keys):
        raise ValueError(f"keys are {keys}, expected distinct strings")
    if len(keys) != len(items):
        raise ValueError(f"{len(keys)} keys and {len(items)} items")
