"""Training steps of Tensors in longer programs: a cell in a Python loop, attention, trees that differ each time."""

from __future__ import annotations

from collections.abc import Iterator

import programs
from harness import Case

from cases.tensor_steps import case


def cases(size: str) -> Iterator[Case]:
    tiny = size == "tiny"
    length, width, batch = (3, 4, 2) if tiny else (50, 32, 8)
    yield case(
        f"Tensors: LSTM cell, {length} steps, hidden {width}, batch {batch}",
        lambda torch: programs.lstm(torch, length, width, width, batch),
        ("torch", 15.0),
    )
    shape = (2, 3, 8, 2) if tiny else (8, 64, 128, 4)
    yield case(
        "Tensors: transformer encoder layer, {} x {} x {}, {} heads".format(*shape),
        lambda torch: programs.transformer(torch, *shape),
        ("torch", 1.5),
        agree=5e-4,
    )
    leaves, width = (3, 4) if tiny else (12, 32)
    yield case(
        f"Tensors: recursive network on random trees of {leaves} leaves, width {width}",
        lambda torch: programs.tree_network(torch, leaves, width),
        ("torch", 1.0),
    )
