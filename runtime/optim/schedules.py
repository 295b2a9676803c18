"""Learning rates that change from epoch to epoch by a rule.

A scheduler's `step()` comes after the optimiser's. Most rules give the next rate from the present one, so several
schedulers of one optimiser work together, and a rate that the program sets is kept; `step(epoch)` jumps to an epoch by
the rule's closed form.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from ..tensor.value.core import Core
from .optimizer import Optimizer, plain


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """A setting of every group; of a tensor a copy, for it is written to."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Change a setting; of a tensor the value."""
    if isinstance(group[key], Core):
        group[key].fill_(plain(value))  # type: ignore[attr-defined]
    else:
        group[key] = value


def one_for_each(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for every group, from one value or a list of them."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [_copied(value) for _ in range(groups)]
    if len(value) != groups:
        raise ValueError(f"{name} must have one value for each of the {groups} param_groups, got {len(value)} values")
    return [_copied(v) for v in value]


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Core) else value  # type: ignore[attr-defined]


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Sets the groups' `lr` at every `step()`. A rule is a method `get_lr`, which gives a rate for each group."""

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param_groups[{k}] has no 'initial_lr', which resuming a scheduler at last_epoch={last_epoch}"
                    " needs: load the optimizer's state first, or start with last_epoch=-1"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step has set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__}.get_lr")

    def _check_inside(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("get_lr() computes the next rates; get_last_lr() gives the present ones", stacklevel=3)

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(), so the first value of the schedule is"
                " skipped; call optimizer.step() first",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn("step(epoch) is deprecated: use step()", stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
            rates = (closed or self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates: Sequence[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _kept(self) -> list[Any]:
        return values_of(self.optimizer, "lr")

    def state_dict(self) -> dict[str, Any]:
        """What it holds, but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


def saved_functions(functions: Sequence[Any]) -> list[Any]:
    """Of functions nothing; of callable objects what they hold."""
    return [None if isinstance(f, FunctionType) else dict(f.__dict__) for f in functions]


class _Functions(LRScheduler):
    """A rule by functions of the epoch, one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)) and len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "lr_lambdas": saved_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        functions = self.lr_lambdas
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, held in zip(functions, state_dict["lr_lambdas"], strict=True):
            if held is not None:
                function.__dict__.update(held)


class LambdaLR(_Functions):
    """The first rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        self._check_inside()
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Functions):
    """At each step times a function of the epoch."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        for f in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        if self._is_initial:
            return self._kept()
        rates = zip(self.lr_lambdas, self._kept(), strict=True)
        return [rate * f(self.last_epoch) for f, rate in rates]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma) if due else self._kept()

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times `gamma` at given epochs."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        times = self.milestones[self.last_epoch]
        return self._scaled(self.gamma**times) if times else self._kept()

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR(factor): expected a number between 0 and 1, got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._kept()

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [rate * factor for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor that goes from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR(start_factor): expected a number above 0, at most 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR(end_factor): expected a number between 0 and 1, got {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._kept()
        more = self.end_factor - self.start_factor
        return self._scaled(1.0 + more / (self.total_iters * self.start_factor + (self.last_epoch - 1) * more))

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * done
        return [rate * factor for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        return self._kept() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """A factor (1 - epoch / total_iters) ** power, zero from `total_iters` on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._kept()
        left, before = (1.0 - k / self.total_iters for k in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((left / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return [rate * factor for rate in self.base_lrs]
