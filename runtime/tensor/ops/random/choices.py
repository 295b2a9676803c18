"""Draws of indices by weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...value.promotion import c_name
from ..arranging.creation import tensor
from . import laws
from .draws import Generator, finish, generator_of


def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Generator | None = None, out: Any = None
) -> Any:
    """Indices drawn with the weights in each row of `input`.

    Without replacement they are those of the largest weights over exponential numbers (Efraimidis and Spirakis 2006).
    """
    kind = input._kind_of()
    if not kind.is_float:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {c_name(kind.dtype)}")
    if not 1 <= len(kind.shape) <= 2:
        raise RuntimeError(f"multinomial: input must be of 1 or 2 dimensions, got {len(kind.shape)}")
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: cannot sample {num_samples} samples, expected at least 1")
    if not replacement and num_samples > kind.shape[-1]:
        raise RuntimeError(
            f"multinomial: cannot draw {num_samples} of {kind.shape[-1]} without replacement; draw fewer or with it"
        )
    if out is not None and out._kind_of().dtype != "i64":
        raise RuntimeError(f"multinomial expects out of dtype torch.int64, got {out.dtype}")
    weights = input._array()
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (weights.sum(-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    source = generator_of(generator, "multinomial")
    if replacement and num_samples > 1:
        drawn = source.draw(laws.unit, (*kind.shape[:-1], num_samples), "f64")._array()
        made = _found(weights, drawn)
    else:
        waits = source.draw(laws.exponential, kind.shape, kind.dtype)._array()
        with np.errstate(divide="ignore"):
            made = np.argsort(-(weights / waits), axis=-1, kind="stable")[..., :num_samples]
    return finish(tensor(made), False, out)


def _found(weights: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Where sums of weights reach the numbers drawn, as shares of the sum of all."""
    edges = np.cumsum(weights, -1)
    edges /= edges[..., -1:]
    rows = zip(edges.reshape(-1, edges.shape[-1]), drawn.reshape(-1, drawn.shape[-1]), strict=True)
    made = np.array([np.searchsorted(e.astype(np.float64), w) for e, w in rows], np.int64)
    return made.reshape(drawn.shape)
