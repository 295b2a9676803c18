"""Transformers: layers of attention and linear maps, each with a norm and a way past it (Vaswani et al., 2017)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import inf
from typing import Any

from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import full
from ...tensor.ops.arranging.scattering import triu
from .. import functional as F
from .. import init
from ..containers import ModuleList
from ..module import Module
from .attention import MultiheadAttention
from .dropouts import Dropout
from .linear import Linear
from .norms import LayerNorm

ACTIVATIONS: dict[str, Callable[..., Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def _activation(given: Any) -> Callable[..., Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return ACTIVATIONS[given]


class _Layer(Module):
    """What encoder and decoder layers have in common."""

    self_attn: MultiheadAttention
    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Callable[..., Tensor]
    norm_first: bool

    def _feed(self, x: Tensor, last: Dropout) -> Tensor:
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _attend(
        self, attention: MultiheadAttention, x: Tensor, memory: Tensor, masks: tuple[Any, Any, bool], last: Dropout
    ) -> Tensor:
        mask, padding, causal = masks
        made, _ = attention(x, memory, memory, padding, False, mask, is_causal=causal and mask is not None)
        return last(made)


class TransformerEncoderLayer(_Layer):
    """Attention within a sequence, then two linear maps."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        given: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **given)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **given)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **given)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **given)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **given)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        x, masks = src, (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            y = self.norm1(x)
            x = x + self._attend(self.self_attn, y, y, masks, self.dropout1)
            return x + self._feed(self.norm2(x), self.dropout2)
        x = self.norm1(x + self._attend(self.self_attn, x, x, masks, self.dropout1))
        return self.norm2(x + self._feed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Attention within a sequence, attention to another one, then two linear maps."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        given: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **given)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **given)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **given)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **given)
        self.norm_first = norm_first
        for k in (1, 2, 3):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **given))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            y = self.norm1(x)
            x = x + self._attend(self.self_attn, y, y, own, self.dropout1)
            x = x + self._attend(self.multihead_attn, self.norm2(x), memory, other, self.dropout2)
            return x + self._feed(self.norm3(x), self.dropout3)
        x = self.norm1(x + self._attend(self.self_attn, x, x, own, self.dropout1))
        x = self.norm2(x + self._attend(self.multihead_attn, x, memory, other, self.dropout2))
        return self.norm3(x + self._feed(x, self.dropout3))


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([deepcopy(layer) for _ in range(count)])


def _is_causal(mask: Tensor | None, said: bool | None) -> bool:
    """What the caller said; a mask means the same whether it is known to be causal or not."""
    return bool(said) and mask is not None


class TransformerEncoder(Module):
    """Several encoder layers, and a norm."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        x, causal = src, _is_causal(mask, is_causal)
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """Several decoder layers, and a norm."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(decoder_layer, num_layers), num_layers, norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        x = tgt
        for layer in self.layers:
            x = layer(
                x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=_is_causal(tgt_mask, tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it gives."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        given: dict[str, Any] = {"device": device, "dtype": dtype}
        each = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **given)
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*each, **given), num_encoder_layers, norm)
        if custom_decoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **given)
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*each, **given), num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        batched, axis = src.dim() == 3, 0 if self.batch_first else 1
        if batched and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf where a query would look at a later key, else 0."""
        return triu(full((sz, sz), -inf, dtype=dtype, device=device), diagonal=1)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
