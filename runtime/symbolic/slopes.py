"""A compiled formula and some of its arguments in; a function of its values and slopes by these out.

    both = values_and_slopes(lambdify([x, [y, z]], [x * y, cos(z)]), [y, z])
    m, values, slopes = both(1.0, [2.0, 3.0])    slopes[0] is {0: (x, False)}, slopes[1] is {1: (sin(z), True)}

They are terms over the algebra m, and a slope that has True is to be subtracted where it would be added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend.array import here
from ...compiler.frontend.promotion import result_dtype, shape_of
from ...compiler.ir.types import NAMES, Type
from ...compiler.ops.duals import ONE, Dual, Duals, NoSlopes, slopes_of, value_of
from ...compiler.ops.expression import Signed
from .formulas.algebras import SharedAlgebra
from .formulas.arguments import bind


class Both(NamedTuple):
    """Terms over `m`: the values, and of each the slopes that are not zero."""

    m: SharedAlgebra
    values: list[Any]
    slopes: list[Mapping[int, Signed]]


def values_and_slopes(formula: Callable[..., Any], moving: Sequence[Any]) -> Callable[..., Both]:
    """Of what `lambdify` made: a function that gives, while another is traced, the values and the slopes of each.

    It raises `NoSlopes` where arguments are no numbers, or the slopes too many to be written one by one.
    """
    reader, leaves, slots = formula.__wrapped__.reads  # type: ignore[attr-defined]
    place = {key: k for k, key in enumerate(moving)}

    def both(*given: Any) -> Both:
        bound, now = bind(slots, given), here(*given)
        values = [x for _, x, _ in bound]
        dtype = result_dtype(*values)
        if dtype.kind == "c" or any(slot.form != "number" or shape_of(x) for slot, x, _ in bound):
            raise NoSlopes("no real numbers")
        m = SharedAlgebra(now, Type(NAMES[dtype if dtype.kind == "f" else np.dtype(np.float64)], ()))
        duals = Duals(m)
        own = [{place[slot.key]: (ONE, False)} if slot.key in place else {} for slot, _, _ in bound]
        env = {slot.key: Dual(duals, m.term(x), seed) for (slot, x, _), seed in zip(bound, own, strict=True)}
        terms = reader.read(leaves, duals, env)
        return Both(m, [value_of(term) for term in terms], [slopes_of(term) for term in terms])

    return both


__all__ = ["Both", "values_and_slopes"]
