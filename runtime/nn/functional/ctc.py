"""Connectionist temporal classification (Graves et al., 2006): sequences of labels without their places in time.

Labels alternate with blanks; `alpha[s]` is the logarithm of the probability of all ways to have come to place s, and
a loop over time carries it.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ....compiler.ir.graph import Builder
from ....compiler.ir.types import Type
from ....compiler.ops import control, memory
from ....compiler.ops.index import take
from ....compiler.ops.reduce import max_
from ....compiler.ops.source import number
from ....compiler.ops.term import Terms
from ...tensor.face.tensor import Tensor
from ...tensor.ops.folds.reductions import back
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.cells import cell_of
from ...tensor.value.core import Core, apply, wrap
from .losing import FOLDS, chosen, reduced
from .terms import counting, listed, need_tensor, padded, part, reshaped, shape_of, size_of, total

NEVER = -1e30
"""The logarithm of what is impossible: finite, so that no difference of two is NaN."""


def _later(m: Any, x: Any, places: int) -> Any:
    """x moved on by some places; what comes in at the start is impossible."""
    n, size = shape_of(x)
    if size <= places:
        return m.number(NEVER, x.value.type)
    moved = padded(m, part(m, x, 1, 0, size - places), (0, places), (n, size))
    return m.select(m.lt(counting(m, (n, size), 1), places), NEVER, moved)


def _sum_of(m: Any, parts: list[Any]) -> Any:
    """The logarithm of the sum of what the parts are logarithms of."""
    top = parts[0]
    for each in parts[1:]:
        top = m.maximum(top, each)
    added = None
    for each in parts:
        e = m.exp(each - top)
        added = e if added is None else added + e
    return top + m.log(added)


def _round(types: list[Type]) -> Any:
    b = Builder("ctc", [Type("i64"), *types])
    m = Terms(b)
    i, alpha, said, skips, lengths = map(m, b.params)
    emitted = m(memory.read(b, said.value, (i + 1).value, axes=(0,), widths=(memory.DROPPED,)))
    jump = m.select(skips, _later(m, alpha, 2), NEVER)
    new = emitted + _sum_of(m, [alpha, _later(m, alpha, 1), jump])
    shape = shape_of(alpha)
    there = m.gt(lengths, back(m, i + 1, shape_of(lengths), (0,)))
    return b.finish([m.select(back(m, there, shape, (1,)), m.maximum(new, NEVER), alpha).value])


def _ctc(m: Any, logs: Any, labels: Any, skips: Any, ends: Any, lengths: Any, wanted: Any, *rest: Any) -> Any:
    zero_infinity, reduction = rest
    steps, n, classes = shape_of(logs)
    size = shape_of(labels)[1]
    index = counting(m, (n, size), 0) * classes + labels
    flat = reshaped(m, logs, (steps, n * classes))
    said = m.maximum(m(take(m.b, flat.value, index.value, axis=1)), NEVER)
    first = reshaped(m, part(m, said, 0, 0, 1), (n, size))
    alpha = m.select(m.lt(counting(m, (n, size), 1), 2), first, NEVER)
    args = [alpha.value, said.value, skips.value, lengths.value]
    body = _round([a.type for a in args])
    (last,) = m.b.emit(control.scan, number(m.b, steps - 1, Type("i64")), *args, regions=[body], carries=1)
    kept = m.select(ends, m(last), NEVER)
    top = back(m, m(max_(m.b, kept.value, axes=(1,))), (n, size), (1,))
    each = 0 - (reshaped(m, part(m, top, 1, 0, 1), (n,)) + m.log(total(m, m.exp(kept - top), (1,))))
    lost = m.gt(each, 1e29)
    each = m.select(lost, 0.0 if zero_infinity else inf, each + _softmax_part(m, logs, lengths))
    return reduced(m, each / wanted if reduction == "mean" else each, reduction)


def _softmax_part(m: Any, logs: Any, lengths: Any) -> Any:
    """Zero, with the gradient exp(logs): PyTorch's gradient is that of the logits of a softmax."""
    shape = shape_of(logs)
    there = m.lt(counting(m, shape, 0), back(m, lengths, shape, (0, 2)))
    mass = total(m, m.select(there, m.exp(logs), 0), (0, 2))
    return mass - m.stop_gradient(mass)


CTC = {r: Operation("ctc_loss", n, _ctc) for r, n in {**FOLDS, "none": "CtcLossBackward0"}.items()}


def _numbers(given: Any) -> np.ndarray:
    return np.asarray(given._array() if isinstance(given, Core) else given, np.int64).reshape(-1)


def _held(array: np.ndarray) -> Tensor:
    return wrap(cell_of(np.ascontiguousarray(array)))


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the targets [batch, n], or one after the other, given [steps, batch, classes]."""
    need_tensor("ctc_loss", "log_probs", log_probs)
    chosen(reduction)
    batched = len(size_of(log_probs)) == 3
    logs = log_probs if batched else log_probs.unsqueeze(1)
    steps, n, classes = size_of(logs)
    given, wanted = _numbers(input_lengths), _numbers(target_lengths)
    if len(given) != n or len(wanted) != n:
        raise RuntimeError(f"input_lengths and target_lengths must be of size {n}, got {len(given)} and {len(wanted)}")
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: {blank} of {classes} classes")
    if given.max(initial=0) > steps or given.min(initial=0) < 0:
        raise RuntimeError(f"Expected input_lengths to have values of at most {steps}, but got value {given.max()}")
    labels = _labels(targets, wanted, n)
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise RuntimeError(f"ctc_loss: targets must be classes below {classes}, got {labels.min()} to {labels.max()}")
    wide = np.full((n, 2 * labels.shape[1] + 1), blank, np.int64)
    wide[:, 1::2] = labels
    skips = np.zeros(wide.shape, bool)
    skips[:, 3::2] = wide[:, 3::2] != wide[:, 1:-2:2]
    at = np.arange(wide.shape[1])
    ends = (at == 2 * wanted[:, None]) | (at == 2 * wanted[:, None] - 1)
    kind = logs._kind_of().type.numpy
    held = [_held(a) for a in (wide, skips, ends, given, np.maximum(wanted, 1).astype(kind))]
    made = apply(CTC[reduction], (logs, *held), (bool(zero_infinity), reduction))
    return made if batched or reduction != "none" else made.reshape(())


def _labels(targets: Any, wanted: np.ndarray, n: int) -> np.ndarray:
    """[batch, longest], whatever form the targets have."""
    need_tensor("ctc_loss", "targets", targets)
    array = np.asarray(targets._array(), np.int64)
    longest = int(wanted.max(initial=0))
    made = np.zeros((n, longest), np.int64)
    if array.ndim == 1:
        if array.size < wanted.sum():
            raise RuntimeError(f"Expected tensor to have size {wanted.sum()} at dimension 0, but got targets of"
                               f" {listed(targets)}")
        for k, start in enumerate(np.cumsum(wanted) - wanted):
            made[k, : wanted[k]] = array[start : start + wanted[k]]
        return made
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got targets of"
                           f" {listed(targets)}")
    for k, length in enumerate(wanted):
        made[k, :length] = array[k, :length]
    return made


__all__ = ["ctc_loss"]
