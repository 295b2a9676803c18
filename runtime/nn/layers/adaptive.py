"""The adaptive softmax: frequent classes at hand, rare ones in clusters behind smaller layers (Grave et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...tensor.face import functions as T
from ...tensor.face.tensor import Tensor
from .. import functional as F
from ..containers import ModuleList, Sequential
from ..module import Module
from .linear import Linear


class ASMoutput(NamedTuple):
    """The log-probability of each target, and the mean loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are sorted by frequency; those from each cutoff on are a cluster."""

    head: Linear
    tail: ModuleList

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in pairwise(ends))
        if not rising or min(ends) <= 0 or max(ends) > n_classes - 1 or any(int(c) != c for c in ends):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each"
                " value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*ends, n_classes]
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for k in range(self.n_clusters):
            width, size = int(in_features // (div_value ** (k + 1))), self.cutoffs[k + 1] - self.cutoffs[k]
            layers = Linear(in_features, width, bias=False, **made), Linear(width, size, bias=False, **made)
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        batched = target_.dim() == 1
        self._check(input_, target_)
        x, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        output, place, seen = T.zeros(target.shape, dtype=x.dtype), T.zeros_like(target), 0
        for k, (low, high) in enumerate(zip([0, *self.cutoffs], self.cutoffs, strict=False)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(-1)
            seen += rows.numel()
            if rows.numel() == 0:
                continue
            chosen = target[rows] - low
            if k == 0:
                place = place.index_copy(0, rows, chosen)
                continue
            found = F.log_softmax(self.tail[k - 1](x.index_select(0, rows)), dim=1)
            output = output.index_copy(0, rows, found.gather(1, chosen.unsqueeze(1)).squeeze(1))
            place = place.index_fill(0, rows, self.shortlist_size + k - 1)
        if seen != target.numel():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range"
                f" [{target.min().item()}, {target.max().item()}] were found. "
            )
        first = F.log_softmax(self.head(x), dim=1)
        output = output + first.gather(1, place.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check(x: Tensor, target: Tensor) -> None:
        if target.dim() == 1:
            if x.size(0) != target.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if x.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {x.size()}")
        elif target.dim() == 0:
            if x.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {x.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        return self._all(input, self.head(input))

    def _all(self, input: Tensor, head: Tensor) -> Tensor:
        first, parts = F.log_softmax(head, dim=1), []
        for k in range(self.n_clusters):
            cluster = F.log_softmax(self.tail[k](input), dim=1)
            parts.append(cluster + first[:, self.shortlist_size + k].unsqueeze(1))
        return T.cat([first[:, : self.shortlist_size], *parts], 1)

    def predict(self, input: Tensor) -> Tensor:
        """The class of the highest probability."""
        head = self.head(input)
        best = head.argmax(dim=1)
        rare = best >= self.shortlist_size
        return T.where(rare, self._all(input, head).argmax(dim=1), best) if bool(rare.any()) else best
