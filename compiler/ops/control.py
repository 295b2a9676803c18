"""Primitives that hold graphs.  A region is closed: what it needs is an argument."""

from __future__ import annotations

from ..ir.graph import Builder, evaluate, inline
from ..ir.primitive import Primitive
from ..ir.types import Type
from .elementwise import mul


class Call(Primitive):
    """region(*args): a function kept apart, with its own name in dumps."""

    holds = 1

    def infer(self, types, attrs, regions):
        if len(regions) != 1 or [p.type for p in regions[0].params] != list(types):
            raise TypeError(f"call: the region's parameters do not fit {', '.join(map(str, types))}")
        return tuple(r.type for r in regions[0].results)

    def evaluate(self, args, attrs, regions):
        return evaluate(regions[0], args)

    def pull(self, b, op, cotangents):
        raise NotImplementedError("the adjoint pass differentiates regions")

    def expand(self, b, op, args):
        """The results of the region's operations, copied into `b`."""
        return inline(op.regions[0], b, args)

    def samples(self, rng):
        return [([rng.normal(size=(3,)), rng.normal(size=(3,))], {})]

    def sample_regions(self):
        """A region that fits the samples."""
        t = Type("f64", (3,))
        b = Builder("product", [t, t], ["x", "y"])
        return (b.finish([mul(b, *b.params)]),)


call = Call("call")

__all__ = ["Call", "call"]
