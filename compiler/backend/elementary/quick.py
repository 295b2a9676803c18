"""exp and log of single numbers, on the shortest way for ordinary ones.

A loop that passes through exp or log waits for every step of them. What only unusual arguments need – a clamp, a second
power of two, the cases of zero, infinity and denormal numbers – is left out of that way, and asked for by a branch
that is not taken: for the others a function does the whole. The bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..text.registers import Reg, llvm_type
from ..text.writer import Writer
from .exponential import exp, reduced, scale
from .logarithm import assembled, log, split
from .parts import BIAS, INFINITY

ORDINARY = {"f64": 708.0, "f32": 87.0}
"""exp(x) is a normal number for |x| below this."""

LEAST = {"f64": 2.0**-1022, "f32": 2.0**-126}
"""The least normal number."""


def _exp(w: Writer, x: Reg) -> Reg:
    parts = reduced(w, x, bias=BIAS[x.dtype])
    power = scale(w, parts.moved)
    return w.muladd(parts.minus_one, power, power)


def _log(w: Writer, x: Reg) -> Reg:
    k, m = split(w, x)
    return assembled(w, k, w.sub(m, w.like(1.0, x)))


def _small(w: Writer, x: Reg) -> Reg:
    return w.lt(w.abs(x), w.like(ORDINARY[x.dtype], x))


def _normal(w: Writer, x: Reg) -> Reg:
    return w.and_(w.ge(x, w.like(LEAST[x.dtype], x)), w.lt(x, w.like(INFINITY, x)))


class Quick(NamedTuple):
    """A function: the short way, when it may be gone, and the whole."""

    short: Callable[[Writer, Reg], Reg]
    may: Callable[[Writer, Reg], Reg]
    whole: Callable[[Writer, Reg], Reg]


QUICK = {"exp": Quick(_exp, _small, exp), "log": Quick(_log, _normal, log)}


def quick(w: Writer, spelling: str, x: Reg, alone: Callable[[Writer, Callable[..., Reg], Reg], Reg]) -> Reg:
    """The function of a single number; `alone` makes a function of vectors one of a number."""
    way = QUICK[spelling]
    near = alone(w, way.short, x)
    scalar = llvm_type(x.dtype)
    helper = f"{spelling}.rare.{x.dtype}"
    if helper not in w.declarations:
        inner = Writer(w.has_fma)
        made = alone(inner, way.whole, Reg(x.dtype, 1, "%x"))
        w.declarations |= inner.declarations
        head = f"define internal {scalar} @{helper}({scalar} %x) noinline cold nounwind {{\nentry:"
        w.declarations[helper] = "\n".join([head, *inner.lines, f"  ret {made.typed}", "}"])
    rare, done, before = w.label("rare"), w.label("ordinary"), w.block
    w.cbr(way.may(w, x), done, rare)
    w.start(rare)
    result = w.call(helper, scalar, [(scalar, x.text)])
    w.br(done)
    w.start(done)
    return w.phi(x.dtype, 1, [(near, before), (Reg(x.dtype, 1, result), rare)])


__all__ = ["QUICK", "quick"]
