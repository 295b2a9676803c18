"""Models whose parameters are averages over training: of steps (stochastic weight averaging) or fading (EMA).

    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    ...
    optimizer.step()
    ema.update_parameters(model)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from ..nn.layers.norms import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..nn.module import Module
from ..tensor.ops.arranging.creation import tensor
from ..tensor.reverse.modes import no_grad
from ..tensor.value.dtypes import int64
from .optimizer import Optimizer
from .schedules import LRScheduler, one_for_each

Average = Callable[[Any, Any, Any], Any]
"""The new average of a tensor, from the old one, the model's tensor and how many are in it; or of lists, in place."""


def _fading(decay: float) -> float:
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The average fades by `decay` at each update."""
    return partial(_faded, _fading(decay))


def get_swa_avg_fn() -> Average:
    """All updates count alike."""
    return _equal


def get_ema_multi_avg_fn(decay: float = 0.999) -> Average:
    """`get_ema_avg_fn` for lists of tensors, in place."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Average:
    """`get_swa_avg_fn` for lists of tensors, in place."""
    return _of_lists(get_swa_avg_fn())


@no_grad()
def _faded(decay: float, average: Any, current: Any, count: Any) -> Any:
    return decay * average + (1 - decay) * current


@no_grad()
def _equal(average: Any, current: Any, count: Any) -> Any:
    return average + (current - average) / (count + 1)


def _of_lists(average: Average) -> Average:
    return partial(_update_lists, average)


@no_grad()
def _update_lists(average: Average, averages: Sequence[Any], currents: Sequence[Any], count: Any) -> None:
    for mine, theirs in zip(averages, currents, strict=True):
        mine.copy_(average(mine, theirs, count))


class AveragedModel(Module):
    """A copy of a model, `module`, whose parameters are averages of the model's at each `update_parameters`.

    With `use_buffers` its buffers are averages too; otherwise they are the model's last ones.
    """

    n_averaged: Any
    module: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the average; the first time they are copied."""
        mine, theirs = self._averaged(self.module), self._averaged(model)
        if self.n_averaged.item() == 0:
            for average, current in zip(mine, theirs, strict=True):
                average.copy_(current)
        elif self.avg_fn is None:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(mine, theirs, self.n_averaged)
        else:
            for average, current in zip(mine, theirs, strict=True):
                average.copy_(self.avg_fn(average, current, self.n_averaged))
        if not self.use_buffers:
            for buffer, current in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.copy_(current)
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Any]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch norms anew, over a loader's batches (of tuples the first parts)."""
    norms: list[Any] = [m for m in model.modules() if isinstance(m, (BatchNorm1d, BatchNorm2d, BatchNorm3d))]
    if not norms:
        return
    training, momenta = model.training, [norm.momentum for norm in norms]
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    for batch in loader:
        model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From the present rate to `swa_lr` in `anneal_epochs`, and then that."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, one_for_each("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How far the rate has come after some steps."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._check_inside()
        step = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * share + first * (1 - share))
        return rates


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
