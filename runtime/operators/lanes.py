"""Operators inside `vmap`: by the rule that the user registered, or example by example."""

from __future__ import annotations

from typing import Any

from ..tensor.face import functions as T


class LaneRule:
    """What `mapping.in_lanes` asks for the results of a batch."""

    generate_vmap_rule = False

    def __init__(self, operator: Any) -> None:
        self.operator, self.__name__ = operator, str(operator)

    def vmap(self, info: Any, dims: tuple[Any, ...], call: Any, *tensors: Any) -> Any:
        """The tensors of the result for the whole batch, and where its dimension is in each."""
        if self.operator.lanes is not None:
            args, named = self.operator._schema.said(call.with_tensors(tensors), call.named)
            made, out = self.operator.lanes(info, call.noted(dims[1:], None)[: len(args)], *args, **named)
            flat = call.flat(made)
            spread = list(out) if isinstance(out, tuple | list) else [out] * len(flat)
            return flat, tuple([d for each in spread for d in (each if isinstance(each, list) else [each])])
        rows = []
        for k in range(info.batch_size):
            one = [x if d is None else T.select(x, d, k) for x, d in zip(tensors, dims[1:], strict=True)]
            rows.append(call.flat(self.operator.run(call.with_tensors(one), call.named)))
        return tuple([T.stack(list(column)) for column in zip(*rows, strict=True)]), 0
