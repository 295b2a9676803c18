"""Exchanges of elements: the order that they make of 0, 1, 2 and so on, compiled when it is first asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....compiler.frontend.tracing import add_program
from ....transforms import jit

add_program(__file__)


@jit
def exchanged(places: Any) -> Any:
    """Element k exchanged with that at places[k], one after the other."""
    count = places.shape[0]
    row = np.arange(count + 1)
    for k in range(count):
        place = places[k]
        held = row[k]
        row[k] = row[place]
        row[place] = held
    return row
