"""What packages import of `torch.nn._reduction`: numbers for how losses are reduced, and what older arguments said."""

from __future__ import annotations

import warnings

NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction: 0 none, 1 mean, 2 sum."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
    if reduction not in NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that two older arguments said; None stands for True."""
    average, reduces = size_average is not False, reduce is not False
    made = "none" if not reduces else "mean" if average else "sum"
    if emit_warning:
        said = "size_average and reduce args will be deprecated, please use reduction='{}' instead."
        warnings.warn(said.format(made), stacklevel=2)
    return made


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that two older arguments said."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]
