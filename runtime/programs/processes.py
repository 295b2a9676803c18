"""What `torch.multiprocessing` has beside Python's own names: ways of sharing memory, of which none is used.

Tensors that are sent to another process arrive as copies.
"""

from __future__ import annotations

_strategy = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names of ways of sharing memory."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The one that was chosen."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose one; it has no effect, as tensors are copied."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy: expected file_descriptor or file_system, got {new_strategy!r}")
    _strategy[0] = new_strategy


__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
