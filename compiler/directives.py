"""What programs tell `torch.compiler` and `torch._dynamo`: a function goes in, and comes out as it was.

PyTorch's compiler reads bytecode and has to be told what to leave alone. Tensors are recorded as they run here, so
there is nothing to be told, and no compilation under way that a program could be part of.
"""

from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from typing import Any


def is_compiling() -> bool:
    """False: a program runs as Python, and what it does is recorded."""
    return False


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """`fn` itself, or a decorator that gives what it got; it has no effect."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """`fn` itself, or all that are given; it has no effect."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """`fn` itself; it has no effect: what it returns is never taken for constant."""
    return fn


def nested_compile_region(fn: Any = None, **_: Any) -> Any:
    """`fn` itself, or a decorator that gives what it got; it has no effect."""
    return (lambda function: function) if fn is None else fn


def substitute_in_graph(original_fn: Any, **_: Any) -> Callable[[Any], Any]:
    """A decorator that gives what it got; it has no effect: the original function is called."""
    return lambda function: function


def reset() -> None:
    """Forget what was compiled; it has no effect, as compiled code is right for as long as it is kept."""


def graph_break(msg: str = "") -> None:
    """Mark where a program goes on as another one; it has no effect."""


def cudagraph_mark_step_begin() -> None:
    """Mark the beginning of a step; it has no effect."""


def mark_dynamic(t: Any, index: Any, **_: Any) -> None:
    """Say that a size will change; it has no effect, as any size may."""


def mark_static(t: Any, index: Any = None) -> None:
    """Say that a size will not change; it has no effect."""


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of other compilers that could be chosen: none."""
    return []


class set_stance(ContextDecorator):
    """Say how much is to be compiled, from now on, within a block or a function; it has no effect."""

    def __init__(self, stance: str = "default", **_: Any) -> None:
        self.stance = stance

    def __enter__(self) -> None:
        """Nothing changes."""

    def __exit__(self, *_: Any) -> None:
        """Nothing changes."""


class Options:
    """Options of PyTorch's compiler: whatever is set is kept and can be read, and has no effect."""

    def patch(self, arg: Any = None, arg2: Any = None, **changes: Any) -> set_stance:
        """Change options within a block or a function."""
        return set_stance()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


config = Options()

__all__ = [
    "Options", "allow_in_graph", "assume_constant_result", "config", "cudagraph_mark_step_begin", "disable",
    "graph_break", "is_compiling", "is_exporting", "list_backends", "mark_dynamic", "mark_static",
    "nested_compile_region", "reset", "set_stance", "substitute_in_graph",
]  # fmt: skip
