"""What files of small programs for PyTorch and for us have in common: their register, and plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], Any]


def registering(programs: dict[str, Program]) -> Callable[[Program], Program]:
    """A decorator that enters a program, `_name`, as `name`."""

    def program(function: Program) -> Program:
        programs[function.__name__[1:]] = function
        return function

    return program


def data(torch: Any, *shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape) / 7
