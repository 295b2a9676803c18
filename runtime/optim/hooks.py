"""Functions that run before and after an optimiser's step, and around saving and loading its state."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..tensor.reverse.hooks import Hook, RemovableHandle, Table, attach

BEFORE_ALL: Table = {}
AFTER_ALL: Table = {}
"""Hooks of the steps of all optimisers."""

KINDS = ("before", "after", "before_state", "after_state", "before_load", "after_load")


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A method `step` that runs the hooks around itself, and notes that it was called."""

    @wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (self._hooks or BEFORE_ALL or AFTER_ALL):
            self._opt_called = True
            return step(self) if not args and not kwargs else step(self, *args, **kwargs)
        self._opt_called = True
        given: tuple[Any, ...] = (self, *args)
        for hook in [*BEFORE_ALL.values(), *self._table("before").values()]:
            changed = hook(self, given, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"a step pre hook must return None or a tuple (new_args, new_kwargs), but got {changed!r}"
                    )
                given, kwargs = changed
        result = step(*given, **kwargs)
        for hook in [*self._table("after").values(), *AFTER_ALL.values()]:
            hook(self, given, kwargs)
        return result

    stepping.__dict__["hooked"] = True
    return stepping


class Hookable:
    """What registers hooks. A class below that writes a `step` of its own has it hooked, too."""

    _opt_called = False
    _hooks: dict[str, Table] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if step is not None and not hasattr(step, "hooked"):
            cls.step = hooked(step)  # type: ignore[attr-defined]

    def _table(self, kind: str) -> Table:
        return self._hooks[kind] if self._hooks else {}

    def _attach(self, kind: str, hook: Hook, prepend: bool = False) -> RemovableHandle:
        if self._hooks is None:
            self._hooks = {name: {} for name in KINDS}
        return attach(self._hooks[kind], hook, prepend)

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before each step and may return other arguments."""
        return self._attach("before", hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs after each step."""
        return self._attach("after", hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` runs before `state_dict()`."""
        return self._attach("before_state", hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs after `state_dict()` and may return another one."""
        return self._attach("after_state", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs before `load_state_dict()` and may return another one."""
        return self._attach("before_load", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` runs after `load_state_dict()`."""
        return self._attach("after_load", hook, prepend)


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs before each step of every optimiser."""
    return attach(BEFORE_ALL, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs after each step of every optimiser."""
    return attach(AFTER_ALL, hook)
