"""An optimiser's state as plain data: parameters become numbers, and numbers that PyTorch keeps in tensors, tensors.

    {"state": {0: {"step": tensor(3.), "exp_avg": tensor([...]), ...}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from ..tensor.ops.arranging.creation import tensor
from ..tensor.value.core import Core
from ..tensor.value.dtypes import float32, float64, get_default_dtype
from .hooks import Hookable


def group_tensors(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
    """By device and dtype of the tensors in the first list: of each list those that stand there, and at which places,
    of which there are none unless `with_indices`."""
    found: dict[Any, Any] = {}
    for k, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, places = found.setdefault((row[0].device, row[0].dtype), ([[] for _ in row], []))
        for one, held in zip(lists, row, strict=True):
            one.append(held)
        places += [k] if with_indices else []
    return found


def _shown(number: Any) -> Any:
    """A number as the tensor that PyTorch has in its place."""
    wide = isinstance(number, np.float64) or get_default_dtype() is float64
    return tensor(float(number), dtype=float64 if wide else float32)


class Stateful(Hookable):
    """Saving and loading. `scalars` names what a state holds as a number and `state_dict` gives as a tensor.

    That is so for the optimisers here, which have a `formula`; what a program's own holds is given as it is.
    """

    scalars: tuple[str, ...] = ("step",)
    state: dict[Any, dict[str, Any]]
    param_groups: list[dict[str, Any]]

    def state_dict(self) -> dict[str, Any]:
        """The state by the parameters' numbers, and the groups' settings. Tensors are shared, not copied."""
        for hook in self._table("before_state").values():
            hook(self)
        number: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
        groups = []
        for group in self.param_groups:
            settings = {key: value for key, value in group.items() if key != "params"}
            groups.append({**settings, "params": [number[id(p)] for p in group["params"]]})
        state = {number[id(p)] if isinstance(p, Core) else p: self._shown(held) for p, held in self.state.items()}
        made: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._table("after_state").values():
            changed = hook(self, made)
            made = made if changed is None else changed
        return made

    def _shown(self, held: Any) -> Any:
        if not isinstance(held, dict):
            return held
        return {k: _shown(v) if self._scalar(k, v) else v for k, v in held.items()}

    def _scalar(self, key: str, value: Any) -> bool:
        return self._counts(key) and not isinstance(value, Core)

    def _counts(self, key: str) -> bool:
        return key in self.scalars and hasattr(type(self), "formula")

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a copy of a state that `state_dict` gave, tensors in their parameters' dtypes."""
        given = dict(state_dict)
        for hook in self._table("before_load").values():
            changed = hook(self, given)
            given = given if changed is None else changed
        groups = deepcopy(given["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(groups)} instead of"
                f" {len(self.param_groups)}"
            )
        for k, (theirs, mine) in enumerate(zip(groups, self.param_groups, strict=True)):
            if len(theirs["params"]) != len(mine["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group:"
                    f" group {k} has {len(theirs['params'])} parameters instead of {len(mine['params'])}"
                )
        params = {}
        for theirs, mine in zip(groups, self.param_groups, strict=True):
            params.update(zip(theirs["params"], mine["params"], strict=True))
            theirs["params"] = mine["params"]
            if "param_names" in mine:
                theirs.setdefault("param_names", mine["param_names"])
        state: dict[Any, dict[str, Any]] = defaultdict(dict)
        for k, held in given["state"].items():
            state[params.get(k, k)] = self._taken(held, params[k]) if k in params else held
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._table("after_load").values():
            hook(self)

    def _taken(self, value: Any, p: Any, key: str = "") -> Any:
        """A copy of a part of a state that belongs to the parameter `p`."""
        if isinstance(value, Core):
            like = p.dtype if p.is_floating_point() else None
            if self._counts(key):
                number = value.item()  # type: ignore[attr-defined]
                return int(number) if key == "step" else (np.float64 if like is float64 else np.float32)(number)
            like = None if key == "step" else like
            return value.detach().clone().to(like) if like else value.detach().clone()  # type: ignore[attr-defined]
        if isinstance(value, dict):
            return {k: self._taken(v, p, k) for k, v in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str):
            return type(value)(self._taken(v, p) for v in value)  # type: ignore[call-arg]
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.__dict__["defaults"], "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
