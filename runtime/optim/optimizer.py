"""What optimisers share: groups of parameters with settings, a state for each parameter, and steps.

An optimiser that treats every element alike says three things: its formula, an operation from (parameter, gradient,
*remembered, *numbers, *choices) to (parameter, *remembered); what is remembered; and the numbers of this step.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..tensor.calls.apart import apart
from ..tensor.calls.calls import recorded
from ..tensor.recorder import forget_gradients, gradients_of
from ..tensor.reverse.modes import enable_grad
from ..tensor.trace.crowd import crowd
from ..tensor.trace.fragments.fragment_cache import fragment_for
from ..tensor.trace.fragments.fragments import Operation, widen
from ..tensor.trace.locks import visited, wait_for
from ..tensor.trace.tape import record, tapes
from ..tensor.trace.undo import take_back
from ..tensor.value.cells import PARTS, Cell
from ..tensor.value.core import Core, input_cell
from ..tensor.value.writing import assign
from .hooks import hooked
from .state import Stateful, group_tensors


class Numbers:
    """The numbers of one step as inputs of the trace, one for each value and dtype."""

    def __init__(self, *values: float) -> None:
        self.values = values
        self.made: dict[str, list[Cell]] = {}

    def cells(self, dtype: str) -> list[Cell]:
        found = self.made.get(dtype)
        if found is None:
            found = self.made[dtype] = [input_cell(v, dtype) for v in self.values]
        return found


@partial(recorded, numbers=("numbers",))
def move(
    operation: Operation,
    attributes: tuple[Any, ...],
    params: Sequence[Core],
    grads: Sequence[Core],
    remembered: Sequence[Core],
    numbers: Sequence[float],
) -> None:
    """One step of parameters that are treated alike; of each, as many tensors are remembered."""
    count, made = len(remembered) // len(params), Numbers(*numbers)
    for k, (p, g) in enumerate(zip(params, grads, strict=True)):
        update(operation, attributes, [p, g, *remembered[k * count : (k + 1) * count]], made)


def update(
    operation: Operation, attributes: tuple[Any, ...], tensors: Sequence[Core], numbers: Numbers
) -> None:
    """Record new values for `tensors` but the second, which is the gradient, and write them."""
    cells = [t._read() for t in tensors]
    cells += numbers.cells(PARTS.get(cells[0].kind.dtype, cells[0].kind.dtype))
    fragment = fragment_for((operation, attributes, *(c.kind for c in cells)))
    results = record(fragment, cells)
    assign(tensors[0], results[0])
    for tensor, cell in zip(tensors[2:], results[1:], strict=True):
        assign(tensor, cell)


def alike(m: Any, p: Any, values: Sequence[Any]) -> list[Any]:
    """Numbers in every element of arrays of p's shape."""
    shape = p.value.type.static_shape()
    return [m(widen(m.b, v.value, shape)) for v in values]


class Plan(NamedTuple):
    """What a step does to one parameter.

    remembered  the tensors that the formula reads and gives anew
    numbers     inputs of the formula that may be others at each step
    choices     attributes of the formula: each combination is code of its own
    """

    remembered: tuple[Core, ...]
    numbers: tuple[float, ...]
    choices: tuple[Any, ...]


class Optimizer(Stateful):
    """Changes parameters by their gradients.  Settings stand in `param_groups`."""

    formula: Operation
    _undo: list[tuple[dict[str, Any], dict[str, Any]]]
    """The states that the step under way changes, and what they were."""
    given: Mapping[int, Any] = {}
    """The gradients of parameters, by their ids, where they are given beside them and are not the parameters' own."""
    _mixed: Mapping[int, tuple[int, bool]] = {}
    """Of groups, by their ids, how many parameters had gradients when it was looked, and whether of several dtypes."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Core):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got"
                f" {type(params).__name__}"
            )
        self._hooks, self.defaults = None, defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    _group_tensors_by_device_and_dtype = staticmethod(group_tensors)

    # ---- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, with settings that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("params must be in an order that stays the same, such as a list's; a set has none")
        given = [params] if isinstance(params, Core) else list(params)
        params = param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in given]
        names = [p[0] for p in given if isinstance(p, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError(f"{len(params) - len(names)} of {len(params)} params have no name: name all, or none")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Core):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad):  # type: ignore[attr-defined]
                raise ValueError("can't optimize a non-leaf Tensor")
        for key, value in self.defaults.items():
            param_group.setdefault(key, value)
        if len({id(p) for p in params}) != len(params):
            warnings.warn("a parameter group contains the same parameter more than once", stacklevel=3)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(("param_names" in group) != bool(names) for group in self.param_groups):
            raise ValueError("either all parameter groups have names for their params, or none has")
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or make them zero."""
        if visited:
            wait_for(tapes.tape)
        for group in self.param_groups:
            if set_to_none:
                forget_gradients(group["params"])
                continue
            for p in group["params"]:
                if p._grad is not None:
                    p._grad.detach_().requires_grad_(False).zero_()

    # ---- steps

    @hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure`, if given, computes the loss again first.

        What was recorded is run here, so that every training step is one trace of the same structure.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        tape = tapes.tape
        if visited:
            wait_for(tape)
        if crowd.on:
            crowd.turn(tape, partial(self._move_all, tape))
        else:
            self._move_all(tape)
        return loss

    def _move_all(self, tape: Any) -> None:
        """Change all parameters that have a gradient; where that fails, none, and the states are as before."""
        enabled, serial, count = tape.mode & 1, tape.serial, tape.count
        undo = self._undo = []
        try:
            tape.still()
            for group in self.param_groups:
                params, grads = gradients_of(group["params"])
                if apart.on:
                    params, grads = self._without_sparse(group, params, grads)
                if params:
                    self._step(group, params, grads)
            tape.mode |= enabled
            tape.flush(True)
        except BaseException as error:
            tape.mode |= enabled
            with tape.lock:
                if tape.serial == serial and take_back(tape, count, error):
                    for state, before in undo:
                        state.clear()
                        state.update(before)
                    for p in [p for p, state in self.state.items() if not state]:
                        del self.state[p]
            raise

    def _without_sparse(
        self, group: dict[str, Any], params: list[Any], grads: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The parameters whose gradients are no sparse Tensors, when those of which they are have been changed."""
        for p, g in zip(params, grads, strict=True):
            if g._apart:
                self._sparse_step(group, p, g)
        kept = [k for k, g in enumerate(grads) if not g._apart]
        return [params[k] for k in kept], [grads[k] for k in kept]

    def _sparse_step(self, group: dict[str, Any], p: Any, g: Any) -> None:
        """Change a parameter whose gradient is a sparse Tensor."""
        name = type(self).__name__
        raise RuntimeError(f"{name} does not support sparse gradients, please consider SparseAdam instead")

    def _step(self, group: dict[str, Any], params: list[Any], grads: list[Any]) -> None:
        """Change the parameters of a group: those that are treated alike by one recorded call."""
        self._undo += [(state := self.state[p], dict(state)) for p in params]
        plans = [self.plan(group, p) for p in params]
        kinds = [p._kind_of().dtype for p in params] if self.is_mixed(group, params) else ()
        start = 0
        for k, plan in enumerate(plans):
            last = k + 1 == len(plans)
            if last or plans[k + 1][1:] != plan[1:] or (kinds and kinds[k + 1] != kinds[k]):
                remembered = [t for each in plans[start : k + 1] for t in each.remembered]
                self._move(plan.choices, params[start : k + 1], grads[start : k + 1], remembered, plan.numbers)
                start = k + 1

    def is_mixed(self, group: dict[str, Any], params: list[Any]) -> bool:
        """Whether parameters have several dtypes, as they had when there were as many: one call moves those of one."""
        count, mixed = self._mixed.get(id(group), (0, False))
        if count != len(params):
            mixed = len({p._kind_of().dtype for p in params}) > 1
            self._mixed = {**self._mixed, id(group): (len(params), mixed)}
        return mixed

    def _move(
        self,
        choices: tuple[Any, ...],
        params: list[Any],
        grads: list[Any],
        remembered: list[Any],
        numbers: Sequence[float],
    ) -> None:
        move(self.formula, choices, params, grads, remembered, own(numbers))

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        """What this step does to `p`; its state counts the step."""
        raise NotImplementedError(f"{type(self).__name__} has neither a step() nor a plan() of its own")

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for k, group in enumerate(self.param_groups):
            text += f"\nParameter Group {k}\n"
            text += "".join([f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"])
        return text + ")"


# ---- settings


def own(numbers: Sequence[Any]) -> list[float]:
    """Numbers as Python's floats, each an object of its own, by which a recorded call tells them apart."""
    return [float(n) * 1.0 for n in numbers]


def plain(value: Any) -> float:
    """A setting as a number; it may be a tensor with one element."""
    return value if type(value) is float or not isinstance(value, Core) else value.item()  # type: ignore[attr-defined]


def not_negative(*, nan: bool = False, **settings: Any) -> None:
    """Raise PyTorch's error for a tensor of several numbers, and for one below zero or, unless `nan`, no number."""
    names = {"lr": "learning rate", "momentum": "momentum value", "eps": "epsilon value"}
    for name, value in settings.items():
        if isinstance(value, Core) and value._kind_of().size != 1:
            raise ValueError(f"Tensor {name} must be 1-element, got shape {list(value._kind_of().shape)}")
        if plain(value) < 0 or (plain(value) != plain(value) and not nan):
            what = names.get(name, f"{name} value")
            raise ValueError(f"Invalid {what}: {value}")


def fractions(betas: Sequence[Any]) -> None:
    """Raise PyTorch's error for a share of an average that is not in [0, 1)."""
    for k, beta in enumerate(betas):
        if isinstance(beta, Core) and beta._kind_of().size != 1:
            raise ValueError(f"Tensor betas[{k}] must be 1-element, got shape {list(beta._kind_of().shape)}")
        if not 0 <= plain(beta) < 1:
            raise ValueError(f"Invalid beta parameter at index {k}: {beta}")


def way_of(**settings: Any) -> None:
    """Refuse ways of stepping that exclude each other, and steps through which gradients were to flow.

    The others choose among PyTorch's kernels. Ours is one for all parameters, so they are kept and change nothing.
    """
    if settings.get("fused") and settings.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if settings.get("fused") and settings.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if settings.get("differentiable"):
        raise NotImplementedError("differentiable=True: write the step in tensor operations instead")
