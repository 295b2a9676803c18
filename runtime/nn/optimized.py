"""`torch.compile`, for programs that call it: what comes again is compiled anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .module import Module


class OptimizedModule(Module):
    """A module behind another, as PyTorch shows it: its parameters are named `_orig_mod.weight`."""

    _orig_mod: Module

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._orig_mod = module
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: Any = "inductor", mode: str | None = None, options: Any = None, disable: bool = False,
) -> Any:  # fmt: skip
    """The function itself, or the module behind another; a decorator without either."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return compile
    if not callable(model):
        raise RuntimeError(f"torch.compile takes a function or a module, got {type(model).__name__}")
    return OptimizedModule(model) if isinstance(model, Module) and not disable else model


__all__ = ["compile"]
