"""Sequences of several lengths, side by side: padded to a rectangle, or packed step by step.

    [a b c], [d e], [f]   packed: a d f b e c, batch_sizes 3 2 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partialmethod
from typing import Any, NamedTuple, Self

import numpy as np

from ..tensor.face.tensor import Tensor
from ..tensor.ops.arranging.creation import full
from ..tensor.ops.arranging.pieces import cat, stack
from ..tensor.value.cells import cell_of
from ..tensor.value.core import Core, wrap


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """The steps of all sequences that last so long, one step after the other; longest sequences first."""

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (tuple, list)) or len(data) != 2:
                raise AssertionError("expected data to be a (data, batch_sizes) tuple")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data in another dtype."""
        return PackedSequence(self.data.to(*args, **kwargs), *self[1:])

    def double(self) -> PackedSequence:
        """The data in float64."""
        return PackedSequence(self.data.double(), *self[1:])

    def _as(self, name: str) -> PackedSequence:
        """The data in the dtype that a method of tensors converts to."""
        return PackedSequence(getattr(self.data, name)(), *self[1:])

    float, half, bfloat16 = partialmethod(_as, "float"), partialmethod(_as, "half"), partialmethod(_as, "bfloat16")
    long, int, short = partialmethod(_as, "long"), partialmethod(_as, "int"), partialmethod(_as, "short")
    char, byte = partialmethod(_as, "char"), partialmethod(_as, "byte")

    def is_pinned(self) -> bool:
        """Whether the data is in memory that a device reads: no."""
        return False

    def cpu(self) -> PackedSequence:
        """The sequences: they are where they were."""
        return self

    @property
    def is_cuda(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    return None if permutation is None else _tensor(np.argsort(permutation._array(), kind="stable"))


def _tensor(array: Any) -> Tensor:
    return wrap(cell_of(np.ascontiguousarray(array, np.int64)))


def _numbers(lengths: Any) -> np.ndarray:
    return np.asarray(lengths._array() if isinstance(lengths, Core) else list(lengths), np.int64)


def lengths_of(lengths: Sequence[int] | np.ndarray) -> Tensor:
    """The lengths as a tensor."""
    return _tensor(lengths)


def _places(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each packed element, its step and its sequence."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    return steps, np.concatenate([np.arange(n) for n in sizes]) if len(sizes) else np.zeros(0, np.int64)


def packed(x: Tensor, batch_sizes: Tensor) -> Tensor:
    """The elements of [steps, batch, ...] that are there, step by step."""
    steps, rows = _places(batch_sizes._array())
    return x[_tensor(steps), _tensor(rows)]


def padded(input: PackedSequence, value: float = 0.0, total: int | None = None) -> tuple[Tensor, np.ndarray]:
    """[steps, batch, ...] with `value` where sequences have ended, and their lengths."""
    sizes = input.batch_sizes._array()
    steps, batch = total or len(sizes), int(sizes[0]) if len(sizes) else 0
    lengths = (sizes[:, None] > np.arange(batch)).sum(0)
    whole = full((steps, batch, *input.data.shape[1:]), value, dtype=input.data.dtype)
    at, rows = _places(sizes)
    return whole.index_put((_tensor(at), _tensor(rows)), input.data), lengths


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack [steps, batch, ...], whose sequences have these lengths."""
    sizes = _numbers(lengths)
    x = input.transpose(0, 1) if batch_first else input
    order = None
    if not enforce_sorted:
        order = _tensor(np.argsort(-sizes, kind="stable"))
        x, sizes = x.index_select(1, order), sizes[order._array()]
    elif (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass"
            " `enforce_sorted=False` to pack_padded_sequence to sidestep this requirement"
        )
    if sizes.ndim != 1 or len(sizes) != x.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {sizes.size} (batch_size="
                           f"{x.shape[1]})")
    if sizes.min() <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is"
                           " <= 0")
    if sizes.max() > x.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {x.shape[0]} steps, got {sizes.max()}")
    batches = _tensor((sizes > np.arange(sizes.max())[:, None]).sum(1))
    return PackedSequence(packed(x, batches), batches, order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The rectangle and the lengths that were packed."""
    steps = sequence.batch_sizes.shape[0]
    if total_length is not None and total_length < steps:
        raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got"
                         f" total_length={total_length} and max sequence length being {steps}")
    x, lengths = padded(sequence, padding_value, total_length)
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices
        # In the order of the result: what draws from it, as a dropout does, goes through memory.
        x = x.transpose(0, 1).index_select(0, back) if batch_first else x.index_select(1, back)
        return x, lengths_of(lengths[back._array()])
    return (x.transpose(0, 1) if batch_first else x), lengths_of(lengths)


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors [n, ...] of several lengths side by side: [longest, batch, ...]."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be 'left' or 'right', got {padding_side!r}")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got {type(sequences)}")
    rows = list(sequences)
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    longest = max(x.shape[0] for x in rows)
    made = []
    for x in rows:
        missing = longest - x.shape[0]
        rest = full((missing, *x.shape[1:]), padding_value, dtype=x.dtype)
        parts = [x, rest] if padding_side == "right" else [rest, x]
        made.append(cat(parts) if missing else x)
    return stack(made, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The tensors that `pad_sequence` put side by side."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[k][: int(n)] for k, n in enumerate(_numbers(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of several lengths."""
    lengths = [x.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that were packed."""
    x, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(x, lengths, batch_first=True)


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip
