"""`torch.testing.make_tensor`: random tensors of a dtype within bounds, for tests."""

from __future__ import annotations

import warnings
from typing import Any

from ..tensor.face import functions as T
from ..tensor.value.dtypes import Size, bool_, dtype_of, uint8
from .comparing import assert_close


def make_tensor(
    *shape: Any, dtype: Any, device: Any = "cpu", low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """A tensor of numbers drawn evenly from [low, high), by default single digits; truth values where dtype is bool."""
    sizes = Size(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)
    kind = dtype_of(dtype)
    exact = not (kind.is_floating_point or kind.is_complex)
    below = 0 if kind in (bool_, uint8) else -9
    above = 2 if kind is bool_ else 10 if exact else 9
    low, high = below if low is None else low, above if high is None else high
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low >= high:
        raise ValueError(f"`low` must be strictly less than `high`, but got {low} >= {high}")
    if requires_grad and exact:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if kind.is_complex:
        real = kind.to_real()
        made = T.stack([T.empty(sizes, dtype=real).uniform_(low, high) for _ in range(2)], -1)
        made = made[..., 0].to(kind) + 1j * made[..., 1].to(kind)
    elif exact:
        made = T.randint(int(low), int(high), sizes, dtype=kind)
    else:
        made = T.empty(sizes, dtype=kind).uniform_(low, high)
    if noncontiguous and made.numel() > 1:
        made = T.repeat_interleave(made, 2, dim=-1)[..., ::2]
    if exclude_zero:
        made = T.where(made == 0, T.ones_like(made) if exact else T.full_like(made, T.finfo(kind).tiny), made)
    return made.requires_grad_() if requires_grad else made


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = "",
) -> None:  # fmt: skip
    """The older `assert_close`, which makes tensors of what it is given and compares no dtypes."""
    text = "`torch.testing.assert_allclose()` is deprecated; use `torch.testing.assert_close()` instead."
    warnings.warn(text, FutureWarning, stacklevel=2)
    expected = expected if T.is_tensor(expected) else T.as_tensor(expected)
    actual = actual if T.is_tensor(actual) else T.as_tensor(actual, dtype=expected.dtype)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None,
    )  # fmt: skip


__all__ = ["assert_allclose", "make_tensor"]
