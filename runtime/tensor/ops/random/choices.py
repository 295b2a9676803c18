"""Draws of indices by weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...value.dtypes import ALL
from ...value.promotion import c_name
from ..arranging.creation import tensor
from .draws import Generator, finish, rand

if TYPE_CHECKING:
    from ...face.tensor import Tensor


def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Generator | None = None, out: Any = None
) -> Tensor:
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
    if out is not None and out._read().kind.dtype != "i64":
        raise RuntimeError(f"multinomial expects out of dtype torch.int64, got {out.dtype}")
    weights = input._array()
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (weights.sum(-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    shape = (*kind.shape[:-1], num_samples) if replacement else kind.shape
    drawn = rand(shape, generator=generator, dtype=ALL["f64"])._array()
    return finish(tensor(_chosen(weights.astype(np.float64), drawn, num_samples, replacement)), False, out)


def _chosen(weights: np.ndarray, drawn: np.ndarray, n: int, replacement: bool) -> np.ndarray:
    if not replacement:
        with np.errstate(divide="ignore"):
            times = -np.log1p(-drawn) / weights
        return np.argsort(times, axis=-1, kind="stable")[..., :n]
    edges = np.cumsum(weights, -1)
    wanted = drawn * edges[..., -1:]
    rows = zip(edges.reshape(-1, edges.shape[-1]), wanted.reshape(-1, n), strict=True)
    made = np.array([np.searchsorted(e, w, side="right") for e, w in rows], np.int64)
    return made.reshape(drawn.shape)
