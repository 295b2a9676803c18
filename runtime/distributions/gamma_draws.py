"""Draws from gamma distributions of rate 1 and of shares of them, with their gradient: how far a draw of the same
quantile moves, see `compiler/ops/scipy/draws.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from ...compiler.ops.scipy.draws import gamma_draw_slope, share_draw_slope
from ..tensor.calls.calls import recorded
from ..tensor.face.functions import finfo
from ..tensor.face.queries import promote_types
from ..tensor.ops.folds.reductions import back, total
from ..tensor.ops.random.distributions import drawn_gamma
from ..tensor.trace.fragments.fragments import RESULT, Operation
from ..tensor.value.core import Core, apply, requires
from ..tensor.value.dtypes import float64


def _gamma_moves(m: Any, inputs: Any, results: Any, cts: Any) -> list[Any]:
    (a, _), (z,), (ct,) = inputs, results, cts
    return [ct * m(gamma_draw_slope(m.b, a.value, z.value)), None]


def _shares_move(m: Any, inputs: Any, results: Any, cts: Any) -> list[Any]:
    """What one gains the others lose in proportion."""
    (a, _), (x,), (ct,) = inputs, results, cts
    axes = (x.value.type.rank - 1,)
    along = ct - back(m, total(m, x * ct, axes), x.value.type.shape, axes)
    return [along * m(share_draw_slope(m.b, a.value, x.value)), None]


GAMMA_OF = Operation("standard_gamma", "StandardGammaBackward0", lambda m, a, z: z, "own", pull=_gamma_moves)
SHARES_OF = Operation("dirichlet", "_DirichletBackward", lambda m, a, x: x, "own", pull=_shares_move)


@recorded
def _moving(concentration: Any, drawn: Core, operation: Operation) -> Any:
    """What was drawn, with its gradient."""
    return apply(operation, (concentration, drawn)) if requires(concentration) else drawn


def standard_gamma(concentration: Any) -> Any:
    """Draws from gamma distributions of rate 1; never zero, whose logarithm is infinite."""
    drawn = drawn_gamma(concentration).clamp(min=finfo(concentration.dtype).tiny)
    return _moving(concentration, drawn, GAMMA_OF)


def _quotient_moves(m: Any, inputs: Any, results: Any, cts: Any, least: float) -> list[Any]:
    (z, rate), (ct,) = inputs, cts
    return [ct / rate, -ct * (z / rate) / rate]


OVER_RATE = Operation(
    "div", "DivBackward0", lambda m, z, rate, least: m.maximum(z / rate, least), "own", edges=True,
    pull=_quotient_moves, loose=((RESULT, 0),),
)  # fmt: skip


@recorded
def over_rate(drawn: Any, rate: Any) -> Any:
    """Draws of rate 1 by a rate of the same shape; none is zero, whose logarithm is infinite, and no gradient tells."""
    if drawn.dtype != rate.dtype:
        dtype = promote_types(drawn.dtype, rate.dtype)
        drawn, rate = drawn.to(dtype), rate.to(dtype)
    return apply(OVER_RATE, (drawn, rate), (finfo(drawn.dtype).tiny,))


FEW = 64
"""Up to so many shares are added in the order in which PyTorch adds them, so that they have its bits."""


def _total(drawn: Any) -> Any:
    """The sum along the last dimension, kept: the rest of vectors of four first, then lane by lane of theirs."""
    if not 0 < drawn.shape[-1] <= FEW:
        return drawn.sum(-1, True)
    parts = drawn.unbind(-1)
    whole = len(parts) // 4 * 4
    rest = [reduce(add, parts[whole:])] if parts[whole:] else []
    return reduce(add, [*rest, *(_lane(parts[k:whole:4]) for k in range(min(whole, 4)))]).unsqueeze(-1)


def _lane(parts: Sequence[Any]) -> Any:
    """Four sums of every fourth, the rest added to the first of them."""
    whole = len(parts) // 4 * 4
    sums = [reduce(add, parts[k:whole:4]) for k in range(min(whole, 4))] or [parts[0]]
    sums[0] = reduce(add, parts[whole or 1 :], sums[0])
    return reduce(add, sums)


def dirichlet(concentration: Any) -> Any:
    """Probabilities along the last dimension, none of them 0 or 1; what one gains the others lose in proportion."""
    limits, drawn = finfo(concentration.dtype), drawn_gamma(concentration.detach().to(float64))
    made = (drawn / _total(drawn)).to(concentration.dtype).clamp(limits.tiny, 1 - limits.eps / 2)
    return _moving(concentration, made, SHARES_OF)
