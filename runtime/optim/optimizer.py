"""What optimisers share: groups of parameters with settings, and a state for each parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..tensor.cells import Cell, number_cell
from ..tensor.core import Core
from ..tensor.fragments import Operation, fragment_for
from ..tensor.modes import enable_grad, no_grad
from ..tensor.tape import flush, record
from ..tensor.writing import assign


class Numbers:
    """The numbers of one step as inputs of the trace, one for each value and dtype."""

    def __init__(self, *values: float) -> None:
        self.values = values
        self.made: dict[str, list[Cell]] = {}

    def cells(self, dtype: str) -> list[Cell]:
        found = self.made.get(dtype)
        if found is None:
            found = self.made[dtype] = [number_cell(v, dtype) for v in self.values]
        return found


def update(
    operation: Operation, attributes: tuple[Any, ...], tensors: Sequence[Core], numbers: Numbers
) -> None:
    """Record new values for `tensors` but the second, which is the gradient, and write them."""
    cells = [t._read() for t in tensors]
    cells += numbers.cells(cells[0].kind.dtype)
    fragment = fragment_for((operation, attributes, *(c.kind for c in cells)))
    results = record(fragment, cells)
    assign(tensors[0], results[0])
    for tensor, cell in zip(tensors[2:], results[1:], strict=True):
        assign(tensor, cell)


class Optimizer:
    """Changes parameters by their gradients.  Settings stand in `param_groups`."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Core):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got"
                f" {type(params).__name__}"
            )
        self.defaults = defaults
        self.state: dict[Core, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, with settings that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        params = param_group["params"]
        params = [params] if isinstance(params, Core) else list(params)
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for p in params:
            if not isinstance(p, Core):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            p._read()
            if p._node is not None:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or make them zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._grad = None
                elif p._grad is not None:
                    p._grad.detach_().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure`, if given, computes the loss again first.

        What was recorded is run here, so that every training step is one trace of the same structure.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p._grad is not None]
                if params:
                    self._step(group, params)
        flush()
        return loss

    def _step(self, group: dict[str, Any], params: Sequence[Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__}._step")

    def state_dict(self) -> dict[str, Any]:
        """The state by the parameters' numbers, and the groups' settings."""
        order = [p for group in self.param_groups for p in group["params"]]
        number = {id(p): k for k, p in enumerate(order)}
        groups = [
            {**group, "params": [number[id(p)] for p in group["params"]]} for group in self.param_groups
        ]
        return {"state": {number[id(p)]: dict(s) for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a state that `state_dict` gave."""
        groups: Iterable[Any] = state_dict["param_groups"]
        sizes = [len(g["params"]) for g in groups]
        if len(sizes) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if sizes != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        order = [p for group in self.param_groups for p in group["params"]]
        for mine, given in zip(self.param_groups, groups, strict=True):
            mine.update({k: v for k, v in given.items() if k != "params"})
        self.state.clear()
        for k, held in state_dict["state"].items():
            self.state[order[k]] = {
                name: v.detach().clone() if isinstance(v, Core) else v  # type: ignore[attr-defined]
                for name, v in held.items()
            }

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {k}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def not_negative(**settings: float) -> None:
    """Raise PyTorch's error for a setting below zero."""
    names = {"lr": "learning rate", "momentum": "momentum value", "eps": "epsilon value"}
    for name, value in settings.items():
        if not value >= 0:
            what = names.get(name, f"{name} value")
            raise ValueError(f"Invalid {what}: {value}")
