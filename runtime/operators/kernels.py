"""Kernels of `custom_op`: the user's function, with a check that its results are new."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..tensor.value.core import Core
from ..tensor.value.trees import leaves
from .registry import Operator


def checked(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of `custom_op` whose results may not be its arguments."""

    def kernel(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        if any(r.alias for r in operator._schema.returns):
            return made
        given = [*leaves(args), *leaves(named)]
        results = [r for r in leaves(made) if isinstance(r, Core)]
        if any(_is_same(r, x) for k, r in enumerate(results) for x in [*given, *results[:k]]):
            raise RuntimeError(
                f"{operator._opname} (with implementation in {inspect.getmodule(function)}): The output of this custom"
                " operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to"
                " this custom operator or other returns. The most common way to trigger this error is if we have y ="
                " custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output"
                " tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        return made

    return kernel


def _is_same(a: Any, b: Any) -> bool:
    if not isinstance(b, Core):
        return False
    return a is b or (a._storage is not None and a._storage is b._storage)
