"""Learning rates that come and go: along a cosine, up and down in cycles, or up once and down again."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .optimizer import Optimizer
from .schedules import LRScheduler, check_optimizer, one_for_each, set_value


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to `eta_min` in `T_max` epochs, and on (Loshchilov and Hutter, 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        if self._is_initial:
            return self._kept()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the last height was zero
            share = (1 - math.cos(math.pi / self.T_max)) / 2
            return [now + (rate - self.eta_min) * share for now, rate in zip(self._kept(), self.base_lrs, strict=True)]
        height, before = (1 + math.cos(math.pi * k / self.T_max) for k in (self.last_epoch, self.last_epoch - 1))
        return [height / before * (now - self.eta_min) + self.eta_min for now in self._kept()]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine again and again, the first in `T_0` epochs, each `T_mult` times as long as the one before."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (int, float)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Go to the next epoch, or to a given one, which may be between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _jump(self, epoch: Any) -> None:
        """Find the cosine that an epoch is on."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


class _Momentum(LRScheduler):
    """A rule that moves the momentum, or Adam's first beta, against the rate."""

    def _begin_momentum(self, optimizer: Optimizer, low: Any, high: Any, last_epoch: int) -> tuple[list, list]:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lows, highs = one_for_each("base_momentum", optimizer, low), one_for_each("max_momentum", optimizer, high)
        for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
            if last_epoch == -1:
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Momentum):
    """Up from `base_lr` to `max_lr` and down again, over and over, in heights that may shrink (Smith, 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        lows = one_for_each("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(lows, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = one_for_each("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: mode={mode!r}")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            pair = self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = pair
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """The height of cycle x, or at iteration x."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in pairs:
                self._set_momentum(group, high - (high - low) * share * scale)
        return [low + (high - low) * share * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        f = self._scale_fn_custom
        held = None if f is None or isinstance(f, FunctionType) else dict(f.__dict__)
        return {**super().state_dict(), "_scale_fn_custom": held}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        f = self._scale_fn_custom
        super().load_state_dict({**state_dict, "_scale_fn_custom": f})
        if state_dict["_scale_fn_custom"] is not None and f is not None:
            f.__dict__.update(state_dict["_scale_fn_custom"])


def _phase(end: float, rates: tuple[str, str], momentums: tuple[str, str]) -> dict[str, Any]:
    """A part of a cycle up to `end`, and what rate and momentum go from and to, as it stands in PyTorch's states."""
    return {
        "end_step": end, "start_lr": rates[0], "end_lr": rates[1], "start_momentum": momentums[0],
        "end_momentum": momentums[1],
    }  # fmt: skip


UP, DOWN, END = ("initial_lr", "max_lr"), ("max_lr", "initial_lr"), ("initial_lr", "min_lr")
FALLING, RISING = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")


class OneCycleLR(_Momentum):
    """Up to `max_lr` and down to far below the start, in a known number of steps (Smith and Topin, 2018)."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        first, last = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        if three_phase:
            second = float(2 * pct_start * self.total_steps) - 2
            steady = ("max_momentum", "max_momentum")
            phases = [(first, UP, FALLING), (second, DOWN, RISING), (last, END, steady)]
        else:
            phases = [(first, UP, FALLING), (last, ("max_lr", "min_lr"), RISING)]
        self._schedule_phases = [_phase(*each) for each in phases]
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, one_for_each("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[Any]:
        self._check_inside()
        step, begin = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        phase = self._schedule_phases[0]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        share = (step - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                start, end = (group[phase[key]] for key in ("start_momentum", "end_momentum"))
                self._set_momentum(group, self._between(start, end, share))
        return rates


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """The number of steps, given as such or by epochs."""
    given = {"total_steps": total_steps} if total_steps is not None else {}
    if not given:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())
