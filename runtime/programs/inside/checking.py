"""Conditions in, an error where one does not hold: `torch._check(x.size(0) == 3, lambda: "three rows expected")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...tensor.value.core import Core

Message = Callable[[], Any] | None


def _raise(kind: type[Exception], message: Message) -> NoReturn:
    if message is not None and not callable(message):
        raise TypeError(f"message must be a callable, but got {type(message)}; write lambda: ...")
    raise kind(str(message()) if message is not None else "Expected cond to be True, but got False.")


def _check_with(error_type: type[Exception], cond: Any, message: Message) -> None:
    """Raise `error_type` with what `message()` gives unless a condition, which is a bool, holds."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _raise(error_type, message)


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless a number can be a size."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise `error_type` unless all elements of a tensor of truth values are True."""
    if not isinstance(cond, Core):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond._kind_of().dtype != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")  # type: ignore[attr-defined]
    _check_with(error_type, bool(cond.all()), message)  # type: ignore[attr-defined]


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of truth values are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input: Any, assert_msg: str = "") -> None:
    """Raise RuntimeError where the one element of a tensor is zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


__all__ = [
    "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
    "_check_tensor_all_with", "_check_type", "_check_value", "_check_with",
]  # fmt: skip
