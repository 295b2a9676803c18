"""Arguments as trees: nested dicts, lists and tuples, whose leaves are traced numbers and arrays, or static.

    signature, leaves = flatten({"w": np.zeros(3), "n": 2, "mode": "fast"})
    signature == ("dict", ("w", "n", "mode"), (("array", "f64", (3,)), ("int",), ("static", ...)))
    leaves == [array([0., 0., 0.]), 2]

Floats, ints, NumPy scalars and arrays are traced. Strings, None, bools, functions, types and all other objects are
static: they are part of the signature, by type and equality if they are hashable, by identity if not. Keys compare
types and bits: 1, 1.0 and True never share a signature, nor do 0.0 and -0.0.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ..ir.containers import Structure, apart, is_declared, is_record, is_unknown
from ..ir.types import COMPLEX, KNOWN, MAX_RANK, NAMES, STORED
from .array import Array
from .complexes import Parts, parts_of
from .static_keys import ById, Still, static_key, static_value

Signature = tuple[Any, ...]
FLOAT, INT = ("float",), ("int",)
CONTAINERS = ("dict", "list", "tuple", "named")
CONTAINER_TYPES = (dict, list, tuple, collections.deque)
MAX_DEPTH = 100
MADE_OF: dict[type, tuple[Callable[[Any], np.ndarray], Callable[[np.ndarray], Any]]] = {}
"""Types of leaves that stand for arrays, such as Tensor: (to an array, from an array)."""

STACKS: dict[type, Callable[[Sequence[Any]], Any]] = {}
"""How some of these are put along a new first axis, where np.stack would lose what they know."""

EAGER: dict[type, Callable[..., Any]] = {}
"""What makes a function of batches of some of these, where a compiled one would lose what they know."""

FOLLOWED: dict[type, Callable[[Any], bool]] = {}
"""Whether operations on such a leaf are remembered, so that results of a compiled function would be missing there."""


CALLS: dict[type, Callable[..., Any]] = {}
"""What calls a compiled function, `(function, args, kwargs, out)`, with such leaves, or misses."""

DIRECTIONS: dict[type, Callable[..., Any]] = {}
"""The same for the transforms that are made of compiled functions.

`(name, function, args, differentiated, out, (argnums, has_aux), kwargs)`"""

LATE: dict[str, Callable[[], None]] = {}
"""By their package, what makes such types known when the first of their objects is met."""


def register_leaf(kind: type, to_array: Callable[[Any], np.ndarray], from_array: Callable[[np.ndarray], Any]) -> None:
    """Let objects of a type be traced as the arrays they hold; results come back as that type."""
    MADE_OF[kind] = (to_array, from_array)


class BadLeaf(Exception):
    """A leaf that cannot be an argument; the path to it is found on the way out."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.problem, self.fix, self.path = problem, fix, ""


def follower(tree: Any, depth: int = 0) -> Callable[..., Any] | None:
    """What calls a compiled function whose arguments have a leaf in them of such a type; None if there is none."""
    if isinstance(tree, (list, tuple, dict)):
        if depth >= MAX_DEPTH:
            return None
        items = tree.values() if isinstance(tree, dict) else tree
        return next((found for each in items if (found := follower(each, depth + 1)) is not None), None)
    if type(tree) in FOLLOWED:
        return next((CALLS[kind] for kind in type(tree).__mro__ if kind in CALLS), None)
    return None


def unfollowed(tree: Any, depth: int = 0) -> Any:
    """The tree, if no leaf of it is followed; else BadLeaf."""
    if not FOLLOWED or depth >= MAX_DEPTH:
        return tree
    if isinstance(tree, (list, tuple, collections.deque)):
        parts: Any = tree
    elif isinstance(tree, dict):
        parts = tree.values()
    else:
        parts = tree.parts if type(tree) is Opened else ()
    for each in parts:
        unfollowed(each, depth + 1)
    if type(tree) in FOLLOWED and FOLLOWED[type(tree)](tree):
        problem = "requires grad, and what a compiled function returns has no history"
        raise BadLeaf(problem, "pass x.detach(), or call the function under torch.no_grad()")
    return tree


def flatten(tree: Any, leaves: list[Any], depth: int = 0) -> Signature:
    """The signature of a tree; its traced leaves are appended to `leaves`."""
    kind = type(tree)
    if kind is float:
        leaves.append(tree)
        return FLOAT
    if kind is np.ndarray and tree.dtype.kind != "c":
        array = canonical(tree)
        leaves.append(array)
        return ("array", NAMES[array.dtype], array.shape)
    if kind is int:
        if not -(2**63) <= tree < 2**63:
            shown = f"the int {tree}" if tree.bit_length() < 200 else "an int"
            raise BadLeaf(f"is {shown}, which needs more than 64 bits", "pass a float")
        leaves.append(tree)
        return INT
    if kind is dict:
        return ("dict", tuple(tree), _items(tree.values(), leaves, map("[{!r}]".format, tree), depth))
    if kind in (list, tuple):
        return (kind.__name__, _items(tree, leaves, map("[{}]".format, range(len(tree))), depth))
    return _rarer(tree, leaves, depth)


def _items(items: Any, leaves: list[Any], places: Iterator[str], depth: int) -> tuple[Signature, ...]:
    if depth >= MAX_DEPTH:
        raise BadLeaf(f"nests more than {MAX_DEPTH} containers, or contains itself", "pass a flatter one")
    found = []
    for each, place in zip(items, places, strict=True):
        try:
            found.append(flatten(each, leaves, depth + 1))
        except BadLeaf as error:
            error.path = place + error.path
            raise
    return tuple(found)


def _rarer(tree: Any, leaves: list[Any], depth: int) -> Signature:
    kind: Any = type(tree)
    parts = parts_of(tree)
    if parts is not None:
        return ("named", Parts, _items(parts, leaves, map(".{}".format, Parts._fields), depth))
    if isinstance(tree, Array):
        leaves.append(tree)
        return ("traced", tree.weak, tree.type.dtype, tree.type.shape)
    if kind in MADE_OF:
        array = canonical(MADE_OF[kind][0](tree))
        leaves.append(array)
        return ("leaf", kind, NAMES[array.dtype], array.shape)
    if isinstance(tree, np.generic) and kind is not np.bool:
        leaves.append(canonical(np.asarray(tree)))
        return ("scalar", NAMES[leaves[-1].dtype])
    if kind is np.bool:
        leaves.append(np.asarray(tree))
        return ("scalar", "bool")
    if isinstance(tree, Opened):
        return ("named", tree.structure, _items(tree.parts, leaves, iter(tree.structure.paths), depth))
    if is_container(tree):
        structure, items = container(tree)
        return ("named", structure, _items(items, leaves, iter(structure.paths), depth))
    if isinstance(tree, np.ndarray) and not isinstance(tree, (np.ma.MaskedArray, np.matrix)):
        return flatten(np.asarray(tree), leaves)
    if isinstance(tree, (float, int)) and not isinstance(tree, (bool, Enum)):
        return flatten(float(tree) if isinstance(tree, float) else int(tree), leaves)
    if isinstance(tree, np.ndarray):
        raise BadLeaf(f"is a {kind.__name__}", "pass a plain NumPy array of floats")
    late = LATE.get((kind.__module__ or "").partition(".")[0])
    if late is not None and not isinstance(tree, type):
        late()
        if kind in MADE_OF:
            return _rarer(tree, leaves, depth)
    if is_table(tree):
        return ("static", static_key(tree))  # what it holds is compared at each call, as of all that is static
    if not isinstance(tree, type) and (hasattr(kind, "__array__") or hasattr(kind, "__array_interface__")):
        raise BadLeaf(f"is a {kind.__module__}.{kind.__qualname__}", "pass np.asarray(...) of it")
    return ("static", static_key(tree))


def is_table(x: Any) -> bool:
    """Whether an object is a table or column of pandas, which stays what it is where it is not differentiated."""
    return (type(x).__module__ or "").partition(".")[0] == "pandas" and hasattr(type(x), "__array__")


def is_table_node(node: Signature) -> bool:
    """Whether a part of a signature stands for such a table."""
    return node[0] == "static" and isinstance(node[1], ById) and is_table(node[1].value)


def is_container(x: Any) -> bool:
    """Whether the parts of an object are those of every tree that it is in; records are opened where that is asked."""
    return (isinstance(x, CONTAINER_TYPES) and not isinstance(x, Enum)) or is_declared(type(x))


def container(x: Any) -> tuple[Structure, list[Any]]:
    """The structure and the parts of what is a container."""
    found = apart(x)
    assert found is not None, "asked for containers only"
    return found


class Opened:
    """An object that is a container here, taken apart, and in it those that are; `Still` numbers are static."""

    __slots__ = ("parts", "structure")

    def __init__(self, structure: Structure, parts: list[Any]) -> None:
        self.structure, self.parts = structure, parts


def opened(tree: Any, depth: int = 0) -> Any:
    """What is differentiated, its records as containers and the ints in its containers static; else the tree itself."""
    kind: Any = type(tree)
    whole: Any = tree
    if kind in (float, np.ndarray) or depth > MAX_DEPTH:
        return tree
    if isinstance(tree, int) and kind is not bool and not isinstance(tree, Enum):
        return Still(tree) if depth else tree
    if kind is dict:
        parts = [opened(each, depth + 1) for each in whole.values()]
        return tree if _same(whole.values(), parts) else dict(zip(whole, parts, strict=True))
    if kind in (list, tuple):
        parts = [opened(each, depth + 1) for each in whole]
        return tree if _same(whole, parts) else kind(parts)
    found = apart(tree) if is_container(tree) or is_record(tree) else None
    if found is None:
        return tree
    parts = [opened(each, depth + 1) for each in found[1]]
    return tree if is_container(tree) and _same(found[1], parts) else Opened(found[0], parts)


def _same(ours: Any, theirs: list[Any]) -> bool:
    return all(a is b for a, b in zip(ours, theirs, strict=True))


def canonical(array: np.ndarray) -> np.ndarray:
    """C-contiguous, aligned and in native byte order: the array itself, or a copy."""
    dtype = array.dtype
    if array.ndim > MAX_RANK:
        raise BadLeaf(f"is an array of {array.ndim} axes", f"at most {MAX_RANK} are supported: reshape it")
    if dtype not in NAMES or dtype.kind == "V":  # which Tensors have for bfloat16, and users for anything
        native = dtype.newbyteorder("=")
        if native not in NAMES or dtype.kind == "V":
            known = ", ".join([KNOWN, *map(str, COMPLEX.values())])
            fix = f"accepted are {known}: convert it with .astype(float)"
            raise BadLeaf(f"is an array of dtype {dtype}", fix)
        array = array.astype(native)
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned) or not array.dtype.isnative:
        array = np.array(array, dtype.newbyteorder("="), order="C")
    return array


def rebuild(signature: Signature, leaves: Iterator[Any]) -> Any:
    """The tree of this signature with other leaves."""
    kind = signature[0]
    if kind == "dict":
        return dict(zip(signature[1], [rebuild(s, leaves) for s in signature[2]], strict=True))
    if kind == "list":
        return [rebuild(s, leaves) for s in signature[1]]
    if kind == "tuple":
        return tuple([rebuild(s, leaves) for s in signature[1]])
    if kind == "named":
        return signature[1](*[rebuild(s, leaves) for s in signature[2]])
    if kind == "static":
        return static_value(signature[1])
    return next(leaves)


def nodes(signature: Signature, path: str = "") -> Iterator[tuple[str, Signature]]:
    """Every leaf, traced or static, with the path to it."""
    pending = [(path, signature)]
    while pending:
        at, node = pending.pop()
        kind = node[0]
        if kind == "dict":
            inner = [(f"{at}[{k!r}]", s) for k, s in zip(node[1], node[2], strict=True)]
        elif kind == "named":
            inner = [(at + k, s) for k, s in zip(paths_of(node[1]), node[2], strict=True)]
        elif kind in ("list", "tuple"):
            inner = [(f"{at}[{k}]", s) for k, s in enumerate(node[1])]
        else:
            yield at, node
            continue
        pending.extend(reversed(inner))


def paths_of(kind: Any) -> list[str]:
    """How the parts of a named tuple, or of what else a structure is known of, are reached."""
    return list(kind.paths) if isinstance(kind, Structure) else [f".{name}" for name in kind._fields]


def has_parts(signature: Signature) -> bool:
    """Whether there are complex numbers in a tree."""
    if signature[0] not in CONTAINERS:
        return False
    return signature[1] is Parts or any(map(has_parts, signature[-1]))


def count(signature: Signature) -> int:
    """How many traced leaves there are."""
    return sum(node[0] != "static" for _, node in nodes(signature))


def dtype_of(node: Signature) -> str:
    """The dtype of a traced leaf."""
    return {"float": "f64", "int": "i64"}.get(node[0]) or (node[2] if node[0] in ("leaf", "traced") else node[1])


def shape_of(node: Signature) -> tuple[int, ...]:
    """The shape of a traced leaf."""
    return () if node[0] in ("float", "int", "scalar") else node[-1]


def unregistered(signature: Signature, name: str) -> tuple[str, str, str] | None:
    """What is not differentiated though it has floats in it: the path to it, what it is, and the way out."""
    for path, node in nodes(signature, name):
        if node[0] == "static" and is_unknown(static_value(node[1])):
            kind = type(static_value(node[1])).__name__
            said = f"an object of class {kind}, which is no container that is known"
            ways = f"make {kind} known with pullback.register, or give it the methods __pullback_flatten__ and"
            return path, said, f"{ways} __pullback_unflatten__; what is not to be differentiated, pass beside it"
    return None


def spelled(node: Signature) -> str:
    """A leaf as users call it."""
    kind = node[0]
    if kind in ("float", "int"):
        return f"a Python {kind}"
    if kind == "static":
        value = static_value(node[1])
        if is_table(value):
            return f"a pandas.{type(value).__name__}"
        return f"an object of class {type(value).__name__}" if type(value).__repr__ is object.__repr__ else repr(value)
    dtype = STORED[dtype_of(node)]
    if kind == "traced" and node[1] and not node[3]:
        return "a Python float" if dtype.kind == "f" else "a Python int"
    return f"a NumPy scalar of {dtype}" if kind == "scalar" else f"an array of {dtype}, shape {shape_of(node)}"
