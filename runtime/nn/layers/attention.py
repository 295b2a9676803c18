"""Attention of several heads as a layer."""

from __future__ import annotations

from typing import Any

from ...tensor.face.tensor import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter, blank
from .linear import NonDynamicallyQuantizableLinear


class MultiheadAttention(Module):
    """Queries, keys and values projected into several heads, each of which attends; their results side by side."""

    _version = 1
    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads="
                             f"{num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        given: dict[str, Any] = {"dtype": dtype, "device": device}
        same, apart = self._qkv_same_embed_dim, (embed_dim, self.kdim, self.vdim)
        for name, width in zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), apart, strict=True):
            self.register_parameter(name, None if same else blank(embed_dim, width, **given))
        self.register_parameter("in_proj_weight", blank(3 * embed_dim, embed_dim, **given) if same else None)
        self.register_parameter("in_proj_bias", blank(3 * embed_dim, **given) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **given)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, blank(1, 1, embed_dim, **given) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The result, and the weights of the keys for each query if they are needed."""
        batched = query.dim() == 3
        turned = self.batch_first and batched
        if turned and query is key and key is value:
            query = key = value = query.transpose(0, 1)
        elif turned:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        made, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (made.transpose(0, 1) if turned else made), weights
