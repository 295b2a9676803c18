"""Derivatives of operators: a call of one as an `autograd.Function` whose backward the user registered.

What the user's functions see are arguments and results as the schema has them; the Function sees their tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..tensor.reverse.custom import Function
from ..tensor.value.core import Core
from ..tensor.value.trees import leaves, mapped, rebuilt

PLACE: Any = object()
"""Stands where a tensor was."""


class Formula(NamedTuple):
    """What was registered; `backward` is None for an operator of `custom_op` without one."""

    backward: Callable[..., Any] | None = None
    setup_context: Callable[..., Any] | None = None


class OperatorCall:
    """The arguments of one call without their tensors, and later the form of its results."""

    def __init__(self, operator: Any, args: list[Any], named: dict[str, Any]) -> None:
        self.operator, self.named = operator, named
        self.args = mapped(lambda x: PLACE if isinstance(x, Core) else x, args)
        self.made: Any = None

    def with_tensors(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments, their tensors given in order."""
        rest = iter(tensors)
        return mapped(lambda x: next(rest) if x is PLACE else x, self.args)

    def flat(self, made: Any) -> tuple[Any, ...]:
        """The tensors of a result, whose form is kept."""
        self.made = mapped(lambda _: PLACE, made)
        return tuple(leaves(made))

    def result(self, tensors: Any) -> Any:
        """The result again from its tensors."""
        return rebuilt(self.made, tensors if isinstance(tensors, tuple) else (tensors,))

    def needs(self, needed: Sequence[bool]) -> tuple[Any, ...]:
        """Which arguments need a gradient: a bool for each, a list for a list."""
        return self.noted(needed, False)

    def noted(self, notes: Sequence[Any], other: Any) -> tuple[Any, ...]:
        """For each argument the note of its tensor or `other`, a list for a list."""
        rest = iter(notes)
        return tuple([_noted(a, rest, other) for a in self.args])

    def spread(self, gradients: Any) -> list[Any]:
        """A gradient for each tensor from those for each argument, which are lists for lists."""
        each = gradients if isinstance(gradients, tuple) else (gradients,)
        if len(each) != len(self.args):
            raise RuntimeError(
                f"{self.operator}: expected a gradient or None for each of its {len(self.args)} arguments, got"
                f" {len(each)} from its backward"
            )
        found: list[Any] = []
        for k, (argument, gradient) in enumerate(zip(self.args, each, strict=True)):
            listed = isinstance(argument, list)
            inner = argument if listed else [argument]
            got = [None] * len(inner) if gradient is None else list(gradient) if listed else [gradient]
            if len(got) != len(inner):
                raise RuntimeError(
                    f"{self.operator}: expected {len(inner)} gradients for the list that is argument {k}, got"
                    f" {len(got)} from its backward"
                )
            for a, g in zip(inner, got, strict=True):
                if a is PLACE:
                    found.append(g)
                elif g is not None:
                    raise RuntimeError(
                        f"{self.operator}: expected None as the gradient of argument {k}, which is not a Tensor, got"
                        f" {type(g).__name__} from its backward"
                    )
        return found


def _noted(argument: Any, rest: Iterator[Any], other: Any) -> Any:
    if isinstance(argument, list):
        return [_noted(each, rest, other) for each in argument]
    return next(rest) if argument is PLACE else other


class Differentiated(Function):
    """The Function of an operator; each has a subclass of its own, which gives its nodes their name."""

    @staticmethod
    def forward(ctx: Any, call: OperatorCall, *tensors: Any) -> Any:
        operator, args = call.operator, call.with_tensors(tensors)
        made = operator.invoke(operator.kernel(), args, call.named)
        setup = operator.formula.setup_context
        if setup is not None:
            before, ctx.needs_input_grad = ctx.needs_input_grad, call.needs(ctx.needs_input_grad[1:])
            only = {a.name for a in operator._schema.arguments if a.kwarg_only}
            setup(ctx=ctx, inputs=tuple(args), output=made, **({"keyword_only_inputs": call.named} if only else {}))
            ctx.needs_input_grad = before
        ctx._call = call
        return call.flat(made)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        call = ctx._call
        formula = call.operator.formula
        if formula.backward is None:
            raise RuntimeError(
                f"Trying to backward through {call.operator} but no autograd formula was registered. Please use"
                " register_autograd to add one."
            )
        given = call.result(gradients)
        before, ctx.needs_input_grad = ctx.needs_input_grad, call.needs(ctx.needs_input_grad[1:])
        try:
            found = formula.backward(ctx, *(given if isinstance(given, tuple) else (given,)))
        finally:
            ctx.needs_input_grad = before
        return None, *call.spread(found)


def function_of(operator: Any) -> type[Differentiated]:
    """The Function of an operator, which it keeps."""
    if operator.function is None:
        name = f"GeneratedBackwardFor_{operator.namespace}_{operator._opname}_{operator._overloadname}"
        operator.function = type(name, (Differentiated,), {"__module__": __name__})
    return operator.function
