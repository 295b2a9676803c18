"""Tables of vectors as layers."""

from __future__ import annotations

from typing import Any, Self

from ...tensor.face.tensor import Tensor
from ...tensor.reverse.modes import no_grad
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter, blank


class _Table(Module):
    """A table whose row `padding_idx` is zero and stays so."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter

    def _fill(self, given: Any, frozen: bool, dtype: Any, device: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if self.padding_idx is not None:
            if not -shape[0] <= self.padding_idx < shape[0]:
                raise AssertionError("Padding_idx must be within num_embeddings")
            self.padding_idx %= shape[0]
        if given is None:
            self.weight = blank(*shape, dtype=dtype, device=device).requires_grad_(not frozen)
            self.reset_parameters()
        else:
            if tuple(given.shape) != shape:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """The rows of a table that indices name, drawn from the standard normal distribution."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._fill(_weight, _freeze, dtype, device)

    def forward(self, input: Tensor) -> Tensor:
        bound = self.max_norm, self.norm_type
        return F.embedding(input, self.weight, self.padding_idx, *bound, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            said += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            said += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            said += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            said += ", scale_grad_by_freq=True"
        return said + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """A layer with this table, which is not learned if `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        given = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        return cls(rows, width, *given, _weight=embeddings, _freeze=freeze)


class EmbeddingBag(_Table):
    """The sums, means or maxima of the rows that bags of indices name."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.include_last_offset = include_last_offset
        self._fill(_weight, False, dtype, device)

    def forward(self, input: Tensor, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            said += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            said += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            said += ", scale_grad_by_freq=True"
        said += f", mode={self.mode!r}"
        return said if self.padding_idx is None else said + f", padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """A layer with this table, which is not learned if `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        given = (max_norm, norm_type, scale_grad_by_freq, mode, sparse)
        made = cls(rows, width, *given, embeddings, include_last_offset, padding_idx)
        made.weight.requires_grad_(not freeze)
        return made
