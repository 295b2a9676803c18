"""`torch.profiler` and `torch.autograd.profiler`: blocks and steps as in PyTorch, in which nothing is measured.

An operation here is a part of a kernel that it shares with others, so there are no times of operations.
`pullback.explain()` says what was recorded, compiled and replayed, and Python's profilers see the rest.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

NOTHING = "nothing is measured: operations share kernels; see pullback.explain()"


class ProfilerActivity(Enum):
    """What PyTorch would measure."""

    CPU, CUDA, XPU, MTIA, HPU, PrivateUse1 = 0, 2, 1, 3, 4, 5


class ProfilerAction(Enum):
    """What is done at a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class DeviceType(Enum):
    """Where an operation runs."""

    CPU, CUDA = range(2)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What is done at each step: after `skip_first` steps, rounds of waiting, warming up and recording."""
    if min(wait, warmup, active, repeat, skip_first) < 0 or active == 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def at(step: int) -> ProfilerAction:
        length = wait + warmup + active
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return at


class EventList(list[Any]):
    """What was measured: nothing."""

    def table(self, *args: Any, **kwargs: Any) -> str:
        """A line that says so."""
        return NOTHING

    def total_average(self) -> Any:
        """None."""
        return None

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace without events."""
        Path(path).write_text(json.dumps({"traceEvents": []}), encoding="utf-8")

    def __str__(self) -> str:
        return NOTHING


class _Block:
    """A block, or a decorator."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return within


class _Measured(_Block):
    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """An empty list."""
        return EventList()

    def events(self) -> EventList:
        """An empty list."""
        return EventList()

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace without events."""
        EventList().export_chrome_trace(path)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write an empty file."""
        Path(path).write_text("", encoding="utf-8")

    def add_metadata(self, key: str, value: str) -> None:
        """It has no effect: there is no trace."""

    add_metadata_json = add_metadata


class profile(_Measured):
    """A block in which PyTorch would measure. Nothing is measured here, so it has no effect beside its handler.

    Steps are counted, and `on_trace_ready` is called where the schedule says that a trace would be ready.
    """

    def __init__(
        self, *, activities: Iterable[Any] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, **others: Any,
    ) -> None:  # fmt: skip
        self._at = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready, self.step_num, self.profiler = on_trace_ready, 0, None
        self.current_action = self._at(0)

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End; a trace that would be under way is ready."""
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._ready()

    def step(self) -> None:
        """The next step begins."""
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self._at(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._ready()

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class older_profile(_Measured):
    """The block of `torch.autograd.profiler`: nothing is measured here, so it has no effect."""

    def __init__(self, enabled: bool = True, **others: Any) -> None:
        self.enabled, self.self_cpu_time_total = enabled, 0
        self.function_events = EventList()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """A line that says that nothing was measured."""
        return NOTHING

    def total_average(self) -> Any:
        """None."""
        return None


class record_function(_Block):
    """A block under a name in a trace. There is no trace, so it has no effect."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args


class emit_nvtx(_Block):
    """A block whose operations a device's profiler would see. It has no effect."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes


emit_itt = emit_nvtx


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """A handler that would write traces for TensorBoard. There are none, so it has no effect."""
    return lambda profiled: None


def supported_activities() -> set[ProfilerActivity]:
    """What could be measured: nothing."""
    return set()


def kineto_available() -> bool:
    """Whether PyTorch's library of traces is there: no."""
    return False


__all__ = [
    "DeviceType", "EventList", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function",
    "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
