"""Losses go in, and losses times a number come out, so that small gradients survive in half precision.

    scaler.scale(loss).backward()
    scaler.step(optimizer)          divides the gradients by the number; no step if one of them is not finite
    scaler.update()                 a smaller number after such a step, a larger one after many good ones

There is no CUDA here, and what is made for CUDA is off, as PyTorch's is without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..tensor.ops.arranging.creation import tensor
from ..tensor.ops.arranging.pieces import stack
from ..tensor.reverse.modes import no_grad
from ..tensor.value.core import Core
from ..tensor.value.dtypes import float16, float32

UNSCALED, STEPPED = "unscaled", "stepped"


class GradScaler:
    """Scale losses so that small gradients of half precision survive; off for a device that is not there."""

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        if enabled and device != "cpu":
            enabled = False
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
        if enabled and growth_factor <= 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, got {growth_factor}.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, got {backoff_factor}.")
        self._enabled, self._device, self._init_scale = enabled, device, float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._good_steps = growth_interval, 0
        self._scale: Any = None
        self._stages: dict[int, str] = {}
        self._found: dict[int, bool] = {}

    def _scale_for(self, name: str) -> Any:
        if self._scale is None:
            raise AssertionError(f"{name}() needs a scale, and nothing has been scaled: call scaler.scale(loss) first")
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale, or each of several, however they are nested."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Core):
            if self._scale is None:
                self._scale = tensor(self._init_scale, dtype=float32)
            return outputs * self._scale
        if not isinstance(outputs, Iterable):
            raise ValueError(f"outputs must be a Tensor or an iterable of Tensors, got {type(outputs).__name__}")
        each = map(self.scale, outputs)
        return type(outputs)(each) if isinstance(outputs, (list, tuple)) else each  # type: ignore[call-arg]

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser by the scale, and see whether all are finite."""
        if not self._enabled:
            return
        scale, stage = self._scale_for("unscale_"), self._stages.get(id(optimizer))
        if stage == UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        found = self._found[id(optimizer)] = _unscale(optimizer, 1.0 / scale.item())
        self._stages[id(optimizer)] = UNSCALED
        if found is None:
            del self._found[id(optimizer)]

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimiser's step, of gradients that are divided by the scale; none if one of them is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._scale_for("step")
        stage = self._stages.get(id(optimizer))
        if stage == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage != UNSCALED:
            self.unscale_(optimizer)
        if id(optimizer) not in self._found:
            raise AssertionError("No inf checks were recorded for this optimizer: none of its parameters has a grad.")
        made = None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = STEPPED
        return made

    def update(self, new_scale: Any = None) -> None:
        """The scale of the next step."""
        if not self._enabled:
            return
        scale = self._scale_for("update")
        if new_scale is not None:
            self._set(_number(new_scale))
        elif not self._found:
            raise AssertionError("No inf checks were recorded prior to update: call scaler.step(optimizer) first.")
        elif any(self._found.values()):
            self._set(scale.item() * self._backoff_factor)
            self._good_steps = 0
        else:
            self._good_steps += 1
            if self._good_steps == self._growth_interval:
                self._good_steps = 0
                grown = np.float32(min(scale.item() * self._growth_factor, 1e300))
                if np.isfinite(grown):
                    self._set(float(grown))
        self._stages, self._found = {}, {}

    def _set(self, value: float) -> None:
        self._scale = tensor(value, dtype=float32)

    def get_scale(self) -> float:
        """The scale, 1 if it is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """By what the scale is multiplied after `growth_interval` good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Another such factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale is multiplied when a gradient was not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Another such factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Another such number of steps."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes; empty if it is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._good_steps,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as the scaler whose `state_dict` this was; nothing if it is off."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance"
                               " of GradScaler.")
        self._init_scale = float(state_dict["scale"])
        if self._scale is not None:
            self._set(self._init_scale)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._good_steps = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._stages:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the"
                                 " end after scaler.update().")
        return self.__dict__ | {"_init_scale": self.get_scale(), "_scale": None}


@no_grad()
def _unscale(optimizer: Any, factor: float) -> bool | None:
    """Multiply the gradients by a factor; whether one of them is infinite or NaN, None if there are none."""
    found = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if any(g.dtype is float16 for g in found):
        raise ValueError("Attempting to unscale FP16 gradients.")
    values = [g._values() if g.is_sparse else g for g in found]
    if not values:
        return None
    inverse = tensor(factor, dtype=float32)
    for value in values:
        value.mul_(inverse)
    return not stack([value.isfinite().all() for value in values]).all().item()


def _number(new_scale: Any) -> float:
    if isinstance(new_scale, (float, int)):
        return float(new_scale)
    if not isinstance(new_scale, Core) or new_scale.numel() != 1 or new_scale.requires_grad:
        raise AssertionError("new_scale should be a float, or a tensor of one element that requires no gradient")
    return float(new_scale.item())


class CudaGradScaler(GradScaler):
    """The older `cuda.amp.GradScaler`."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        older("torch.cuda.amp.GradScaler(args...)", "torch.amp.GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def older(name: str, instead: str) -> None:
    """Warn that a name has got another."""
    warnings.warn(f"`{name}` is deprecated. Please use `{instead}` instead.", FutureWarning, stacklevel=3)


__all__ = ["CudaGradScaler", "GradScaler", "older"]
