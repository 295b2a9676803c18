"""What the compiler must know about an operation to hold, print, check, run and differentiate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from .types import Type

if TYPE_CHECKING:
    from .graph import Builder, Graph, Op, Value

REGISTRY: dict[str, Primitive] = {}


class Effect(Enum):
    """`PURE` may be dropped, repeated and moved; `MAY_FAIL` must run where and when it stands."""

    PURE = "pure"
    MAY_FAIL = "may fail"


class Primitive:
    """One operation, in one place.  Making one registers it under its name.

    infer     the types of the results, or TypeError
    evaluate  the results in NumPy: the meaning of the operation
    define    what one element of the result is, for the lowering
    pull      emit the pullback: one cotangent, or None, per argument
    samples   arguments worth testing it on
    """

    name: str
    effect = Effect.PURE
    #: linear in its one float argument, so that its pullback also transports masks
    linear = False
    #: the partials are finite everywhere, so a cotangent of zero needs no care
    bounded = True
    #: its pullback makes exact zeros, so masks begin here
    hides = False
    #: an argument at which the partials are finite, put in place of masked ones
    safe = 1.0

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

    def masks(self, b: Builder, op: Op, mask: Value) -> Sequence[Value | None]:
        """Where each argument's cotangent can differ from zero, if the result's can only where `mask` holds."""
        return [None] * len(op.args)

    def samples(self, rng: np.random.Generator) -> list[tuple[list[np.ndarray], dict[str, Any]]]:
        """Pairs (arguments, attributes) away from kinks, for tests."""
        raise NotImplementedError(f"{self.name}.samples")
