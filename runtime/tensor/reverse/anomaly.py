"""Looking for the operation that made a NaN on the way back."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..trace.tape import force
from .modes import watch
from .nodes import Flow, Node


def is_anomaly_enabled() -> bool:
    """Whether backward names the operation that made a NaN."""
    return watch.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether backward looks for NaN."""
    return watch.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Set the mode for good; see `detect_anomaly`."""
    watch.anomaly, watch.check_nan = bool(mode), bool(check_nan)


class set_detect_anomaly:
    """Set the mode at once; as a context manager, put the old one back at its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = watch.anomaly, watch.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        watch.anomaly, watch.check_nan = self._before


class detect_anomaly:
    """`with detect_anomaly():` run forward and backward; an error of backward names the line of forward.

    It looks at each gradient when it is made, so it is slow.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before = watch.anomaly, watch.check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled"
            " for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = watch.anomaly, watch.check_nan
        watch.anomaly, watch.check_nan = True, self.check_nan

    def __exit__(self, *_: Any) -> None:
        watch.anomaly, watch.check_nan = self._before


def check_nan(node: Node, pulled: Sequence[tuple[int, Flow]]) -> None:
    """Raise an error if the pullback of `node` gave a NaN."""
    order = {k: n for n, k in enumerate(node.shown())}
    for k, (cell, _) in pulled:
        array = force(cell).array
        if cell.kind.is_float and np.isnan(array).any():  # type: ignore[arg-type]
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {order.get(k, k)}th output.{forward_line(node)}"
            )


def forward_line(node: Node) -> str:
    """Where `node` was made, as the end of a message."""
    if node.place is None:
        return " Its forward call ran before anomaly detection was switched on."
    where = node.place.where
    text = linecache.getline(where.file, where.line).strip()
    return f" It was made at {where}" + (f": {text}" if text else "")
