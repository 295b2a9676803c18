"""Values, operations, graphs and the builder that makes them; and what the compiler must know about an operation.

They are one definition: an operation is a primitive with its arguments, and the rules of a primitive hold, print,
check, run and differentiate operations. Only a `Builder` has state, and it cannot build an ill-typed operation, because
the primitive's own rule gives the result types.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from .attributes import KINDS
from .types import Type

REGISTRY: dict[str, Primitive] = {}

ALWAYS, VECTORS, NEVER = 0, 64, 1 << 60
"""How many elements it takes until a result is made again as quickly as it goes to memory and comes back: a function
that is made in vectors takes a few, what takes a cycle none."""


class Effect(Enum):
    """`PURE` may be dropped, repeated and moved; `MAY_FAIL` must run where and when it stands."""

    PURE = "pure"
    MAY_FAIL = "may fail"


class Where(NamedTuple):
    """A place in the user's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file.replace(chr(92), '/').rpartition('/')[2]}:{self.line}"

    def told(self) -> str:
        """As errors say it: the whole name of the file, and what stands there."""
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.file}:{self.line}" + (f": {source}" if source else "")


class Value:
    """One SSA name.  Two values are the same only if they are the same object."""

    __slots__ = ("type", "hint")

    def __init__(self, type: Type, hint: str = "") -> None:
        self.type, self.hint = type, hint

    def __repr__(self) -> str:
        return f"%{self.hint or '_'}: {self.type}"


class Op:
    """results = prim(args) {attrs} with regions, written at `where` in the user's source."""

    __slots__ = ("prim", "args", "attrs", "regions", "results", "where", "__weakref__")

    def __init__(
        self,
        prim: Primitive,
        args: tuple[Value, ...],
        attrs: Mapping[str, Any],
        regions: tuple[Graph, ...],
        results: tuple[Value, ...],
        where: Where | None = None,
    ) -> None:
        self.prim, self.args, self.attrs = prim, args, attrs
        self.regions, self.results, self.where = regions, results, where

    @property
    def effect(self) -> Effect:
        """The primitive's effect, or the strongest of what its regions hold."""
        effect, pure = self.prim.effect, Effect.PURE
        if self.regions and effect is pure and any(op.effect is not pure for g in self.regions for op in g.body):
            return Effect.MAY_FAIL
        return effect


class Graph:
    """A closed function: no operation reads a value from outside it."""

    __slots__ = ("name", "params", "body", "results")

    def __init__(
        self,
        name: str,
        params: tuple[Value, ...],
        body: tuple[Op, ...],
        results: tuple[Value, ...],
    ) -> None:
        self.name, self.params, self.body, self.results = name, params, body, results

    def renamed(self, name: str) -> Graph:
        return Graph(name, self.params, self.body, self.results)


class Builder:
    """A graph under construction.  `where` is stamped on every operation emitted."""

    def __init__(self, name: str, types: Iterable[Type] = (), hints: Iterable[str] = ()) -> None:
        self.name = name
        types, hints = list(types), list(hints)
        hints += [""] * (len(types) - len(hints))
        self.params = tuple(Value(t, h) for t, h in zip(types, hints, strict=True))
        self.body: list[Op] = []
        self.where: Where | None = None

    def param(self, type: Type, hint: str = "") -> Value:
        """Add one more parameter."""
        value = Value(type, hint)
        self.params += (value,)
        return value

    def extend(self, params: Iterable[Value]) -> None:
        """Add parameters: many in the time of one."""
        self.params = (*self.params, *params)

    def emit(
        self, prim: Primitive, *args: Value, regions: Sequence[Graph] = (), **attrs: Any
    ) -> tuple[Value, ...]:
        """Append prim(args) and return its results; raises TypeError if the types do not fit."""
        types = prim.infer([a.type for a in args], attrs, regions)
        results = (Value(types[0]),) if len(types) == 1 else tuple([Value(t) for t in types])
        self.body.append(Op(prim, args, attrs, tuple(regions) if regions else (), results, self.where))
        return results

    def append(self, op: Op) -> tuple[Value, ...]:
        """Share an operation that is already well typed."""
        self.body.append(op)
        return op.results

    def finish(self, results: Iterable[Value]) -> Graph:
        return Graph(self.name, self.params, tuple(self.body), tuple(results))


class NotBatchable(Exception):
    """An operation cannot be made for many lanes at once."""


class Running(Protocol):
    """The cotangents of values so far, in a reverse sweep."""

    def active(self, value: Value) -> bool:
        """Whether a derivative passes through `value`: others need no cotangent."""
        ...

    def take(self, value: Value) -> Value:
        """The running cotangent of `value`, zeros if there is none; nobody else has it then."""
        ...

    def put(self, value: Value, ct: Value) -> None:
        """What was taken, changed."""
        ...

    def give(self, value: Value, ct: Value) -> None:
        """Add a cotangent to what `value` has."""
        ...


class Primitive:
    """One operation, in one place.  Making one registers it under its name.

    infer     the types of the results, or TypeError
    evaluate  the results in NumPy: the meaning of the operation
    define    what one element of the result is, for the lowering
    pull      emit the pullback: one cotangent, or None, per argument
    batch     emit it for many lanes at once: see `passes.batch`
    samples   arguments worth testing it on
    """

    name: str
    effect = Effect.PURE
    #: how many arguments `infer` can be asked about; None for any number
    arity: int | None = None
    #: how many regions
    holds = 0
    #: the attributes and their KINDS; with a ? those that may be left out
    attributes: ClassVar[Mapping[str, str]] = {}
    #: linear in its one float argument, so that its pullback also transports masks
    linear = False
    #: the partials are finite everywhere, so a cotangent of zero needs no care
    bounded = True
    #: whether it is, or becomes, a call of a Python function of this process
    opaque = False
    #: its pullback makes exact zeros, so masks begin here
    hides = False
    #: what it hides was chosen by a condition
    chooses = False
    #: the pullback is `pull_into`, which changes running cotangents in place of giving some to be added
    takes = False
    #: an argument at which the partials are finite, put in place of masked ones
    safe = 1.0
    #: what one element of the result costs to make, in additions
    cost = 1
    #: its elements are not worth an array of their own
    light = False
    #: elements from which making the result again costs no more than loading it: ALWAYS, VECTORS or NEVER
    again = NEVER
    #: the same of results that are whole numbers; None if it is no different
    whole_again: int | None = None
    #: the result is one correctly rounded, chosen or moved number, so that NumPy's bits are the machine's
    exact = False
    #: a value of two arguments that is the same with them the other way round
    commutes = False
    #: arithmetic whose bits are NumPy's on single numbers, so that constants can be folded
    folds = False
    #: what it shares with others of the name that have the same argument, up to its sign
    family: str | None = None
    #: an element of its results is made of those of its arguments in the same place
    elementwise = False
    #: its elements are chosen by where they lie: what is made for one of them is made below a guard of its own
    guards = False
    #: `expand(b, op, args)` gives its results in other terms, for when nothing will be differentiated any more
    expand: Any = None
    #: `(prim, f)`: where that primitive is applied to the same arguments, `f(b, args)` gives its results by those
    beside: Any = None
    #: `on_pairs(m, op, args)` gives its results where arguments are complex: see `ops.complex.complexes`
    on_pairs: Any = None

    def __init__(self, name: str) -> None:
        if name in REGISTRY:
            raise ValueError(f"the primitive {name} is defined twice")
        self.name = name
        REGISTRY[name] = self

    def __call__(self, b: Builder, *args: Value, **attrs: Any) -> Any:
        """Emit into `b`; the one result, or the tuple of results."""
        results = b.emit(self, *args, **attrs)
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def accepts(self, arguments: int, attrs: Mapping[str, Any], regions: int) -> None:
        """Raise TypeError unless there are as many arguments and regions, and such attributes, as `infer` reads."""
        if self.arity is not None and arguments != self.arity:
            raise TypeError(f"{self.name} takes {self.arity} arguments, got {arguments}")
        if regions != self.holds:
            raise TypeError(f"{self.name} holds {self.holds} regions, got {regions}")
        for name in attrs:
            if name not in self.attributes:
                known = ", ".join(self.attributes) or "none"
                raise TypeError(f"{self.name} has no attribute {name}; there are: {known}")
        for name, kind in self.attributes.items():
            if name not in attrs and not kind.endswith("?"):
                raise TypeError(f"{self.name} wants the attribute {name} ({kind})")
            if name in attrs and not KINDS[kind.removesuffix("?")](attrs[name]):
                raise TypeError(f"{self.name}: {name} wants {kind.removesuffix('?')}, got {attrs[name]!r}")

    def infer(
        self, types: Sequence[Type], attrs: Mapping[str, Any], regions: Sequence[Graph]
    ) -> tuple[Type, ...]:
        raise NotImplementedError(f"{self.name}.infer")

    def evaluate(
        self, args: Sequence[np.ndarray], attrs: Mapping[str, Any], regions: Sequence[Graph]
    ) -> Sequence[np.ndarray]:
        raise NotImplementedError(f"{self.name}.evaluate")

    def define(self, op: Op, reads: Sequence[Any]) -> Any:
        """See `compiler.loops`: the element of each result as an expression of the elements read."""
        raise NotImplementedError(f"{self.name}.define")

    def pull(
        self, b: Builder, op: Op, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        raise NotImplementedError(f"{self.name}.pull")

    def pull_into(self, b: Builder, op: Op, cotangents: Sequence[Value | None], running: Running) -> None:
        """Emit the pullback of what `takes`, changing the running cotangents of the arguments."""
        raise NotImplementedError(f"{self.name}.pull_into")

    def batch(self, m: Any) -> Sequence[Value]:
        """The results with an axis of the lanes in front; `m.args[k]` has it where `m.flags[k]`, `m.wide(k)` always."""
        raise NotBatchable(f"{self.name} has no rule for batches")

    def masks(self, b: Builder, op: Op, mask: Value) -> Sequence[Value | None]:
        """Where each argument's cotangent can differ from zero, if the result's can only where `mask` holds."""
        return [None] * len(op.args)

    def at_sizes(self, attrs: Mapping[str, Any]) -> tuple[Primitive, Mapping[str, Any]]:
        """What it is, now that `attrs` have numbers for sizes."""
        return self, attrs

    def samples(self, rng: np.random.Generator) -> list[tuple[list[np.ndarray], dict[str, Any]]]:
        """Pairs (arguments, attributes) away from kinks, for tests."""
        raise NotImplementedError(f"{self.name}.samples")
