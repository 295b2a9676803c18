"""The families of cases by name, in the order in which they run."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness import Case

FAMILIES = (
    "calls",
    "elementwise",
    "rows",
    "options",
    "mixture",
    "mlp",
    "digits",
    "products",
    "transformer",
    "embedding",
    "convolution",
    "reprojection",
    "atoms",
    "lotka_volterra",
    "soft_dtw",
    "newton",
    "kalman",
    "characters",
    "volatility",
    "heat",
    "cofactors",
    "derivatives",
    "symbols",
    "matrices",
    "fourier",
    "long_time",
    "threads",
    "cold",
    "cold_loops",
    "unrolled",
    "tensor_steps",
    "tensor_networks",
    "tensor_patterns",
    "ingredients",
    "tutorials",
    "unrepeated",
    "looked_at",
    "tensor_recording",
    "interop",
    "imports",
)


def family(name: str, size: str) -> Iterator[Case]:
    """The cases of a family, each made when it is asked for; size is tiny, quick or full."""
    yield from importlib.import_module(f"cases.{name}").cases(size)
