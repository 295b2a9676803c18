"""Attention: each query takes a mean of the values, weighted by how well their keys match."""

from __future__ import annotations

import math
from math import prod
from typing import Any

from ....compiler.ops.contract import contract
from ...tensor.calls.calls import recorded
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import zeros
from ...tensor.ops.arranging.pieces import cat
from ...tensor.ops.arranging.shapes import expand
from ...tensor.ops.elementwise.softmax import _softmax as softened
from ...tensor.ops.folds.reductions import back, converted
from ...tensor.ops.random.draws import coins
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply, apply_all, wrap
from ...tensor.value.given import real
from ...tensor.value.promotion import common_shape
from .dropout import scale_of_kept
from .linear import linear
from .padding import pad
from .terms import Shape, counting, need_tensor, reshaped, shape_of, size_of, total, wide

BATCH = ((0, 0),)


def _weights(m: Any, q: Any, k: Any, extra: tuple[Any, ...], scale: float, causal: bool) -> Any:
    """softmax(q k^T scale + mask) over the keys; where all keys are masked, zeros."""
    scores = m(contract(m.b, (q * scale).value, k.value, left=(2,), right=(2,), batch=BATCH))
    shape = shape_of(scores)
    if causal:
        scores = m.select(m.ge(counting(m, shape, 1), counting(m, shape, 2)), scores, -math.inf)
    for mask in extra:
        mask = wide(m, mask, shape)
        if mask.value.type.dtype == "bool":
            scores = m.select(mask, scores, -math.inf)
        else:
            scores = scores + mask
    if not extra and not causal:
        return softened(m, scores, (2,))
    lost = m.eq(total(m, converted(m, m.gt(scores, -math.inf), q.value.type.dtype), (2,)), 0)
    lost = back(m, lost, shape, (2,))
    return m.select(lost, 0, softened(m, m.select(lost, 0, scores), (2,)))


def _attend(m: Any, q: Any, k: Any, v: Any, *rest: Any) -> tuple[Any, Any]:
    *extra, masked, dropped, scale, causal, p = rest
    weights = _weights(m, q, k, tuple(extra[:masked]), scale, causal)
    if dropped:
        scale = m.number(scale_of_kept(p, weights.value.type.dtype), weights.value.type)
        weights = weights * m.select(extra[-1], scale, 0)
    return m(contract(m.b, weights.value, v.value, left=(2,), right=(1,), batch=BATCH)), weights


def _attend_wide(m: Any, *given: Any) -> Any:
    """The same, broadcast to the dimensions `lead` before the last two."""
    *tensors, lead, masked, dropped, scale, causal, p = given
    (rows, _), (columns, width) = shape_of(tensors[0])[-2:], shape_of(tensors[2])[-2:]
    flat = [wide(m, x, (*lead, *shape_of(x)[-2:])) for x in tensors[:3]]
    if masked:
        flat.append(wide(m, tensors[3], (*lead, rows, columns)))
    flat = [reshaped(m, x, (prod(lead), *shape_of(x)[-2:])) for x in flat]
    made, _ = _attend(m, *flat, *tensors[3 + masked :], masked, dropped, scale, causal, p)
    return reshaped(m, made, (*lead, rows, width))


NODES = ("UnsafeViewBackward0", "ScaledDotProductFlashAttentionForCpuBackward0")
ATTEND = [Operation("scaled_dot_product_attention", node, _attend_wide) for node in NODES]


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query key^T scale + mask) value, over the last two dimensions; the others broadcast.

    attn_mask   True where a query may look at a key, or numbers that are added
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        need_tensor("scaled_dot_product_attention", name, x)
    drawn = None
    if dropout_p:
        _check_attention(query, key, value, attn_mask, is_causal)
        shapes = _repeated_shapes(query, key, value, enable_gqa)
        shape = prod(common_shape([s[:-2] for s in shapes])), shapes[0][-2], shapes[1][-2]
        drawn = coins(shape, 1 - dropout_p, query)
    return _attention(query, key, value, attn_mask, drawn, dropout_p, is_causal, scale, enable_gqa)


def _repeated_shapes(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> list[Shape]:
    """The shapes of queries, keys and values, with as many heads of keys as of queries if they are to be repeated."""
    shapes = [size_of(x) for x in (query, key, value)]
    if not enable_gqa or shapes[0][-3] == shapes[1][-3]:
        return shapes
    if shapes[0][-3] % shapes[1][-3]:
        raise RuntimeError(f"enable_gqa: {shapes[0][-3]} heads of queries are no multiple of {shapes[1][-3]} of keys")
    return [(*s[:-3], shapes[0][-3], *s[-2:]) for s in shapes]


@recorded
def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, drawn: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float | None, enable_gqa: bool,
) -> Tensor:  # fmt: skip
    _check_attention(query, key, value, attn_mask, is_causal)
    shapes = _repeated_shapes(query, key, value, enable_gqa)
    key, value = (_repeated(x, s) for x, s in zip((key, value), shapes[1:], strict=True))
    lead = common_shape([s[:-2] for s in shapes])
    (rows, width), columns = shapes[0][-2:], shapes[1][-2]
    given = [query, key, value]
    if attn_mask is not None:
        common_shape([size_of(attn_mask), (*lead, rows, columns)])
        given.append(attn_mask)
    if drawn is not None:
        given.append(drawn)
    factor = 1 / math.sqrt(width) if scale is None else real(scale)
    plain = len(lead) == 2 and not dropout_p and shapes[0][-1] == shapes[2][-1] and len({s[:-2] for s in shapes}) == 1
    masked = attn_mask is not None
    return apply(ATTEND[plain], given, (lead, masked, bool(dropout_p), factor, bool(is_causal), float(dropout_p)))


def _check_attention(query: Any, key: Any, value: Any, mask: Any, causal: bool) -> None:
    kinds = [x._kind_of() for x in (query, key, value)]
    if any(len(k.shape) < 2 for k in kinds):
        raise RuntimeError("scaled_dot_product_attention: Expected query, key, and value to all be at least 2"
                           f" dimensional, but got {', '.join(f'{len(k.shape)}D' for k in kinds)}")
    if len({k.dtype for k in kinds}) > 1:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got"
                           f" {query.dtype}, {key.dtype} and {value.dtype}")
    if mask is not None and causal:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if mask is not None and mask._kind_of().dtype not in ("bool", kinds[0].dtype, "f32"):
        raise RuntimeError(f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask of"
                           f" {mask.dtype} and query of {query.dtype}")
    (_, wide_q), (rows_k, wide_k), (rows_v, _) = (k.shape[-2:] for k in kinds)
    if wide_q != wide_k or rows_k != rows_v:
        raise RuntimeError(f"scaled_dot_product_attention: sizes of query {list(kinds[0].shape)}, key"
                           f" {list(kinds[1].shape)} and value {list(kinds[2].shape)} do not match")


def _repeated(x: Tensor, wanted: Shape) -> Tensor:
    """Every head of keys as often as there are heads of queries for it."""
    shape = size_of(x)
    if shape == wanted:
        return x
    times = wanted[-3] // shape[-3]
    wide_x = expand(x.unsqueeze(-3), (*shape[:-2], times, *shape[-2:]))
    return wide_x.reshape(wanted)


# ---- several heads


def _added(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask as numbers that are added; True means that a key is not looked at."""
    if mask is None or mask._kind_of().is_float:
        return mask
    if mask._kind_of().dtype != "bool":
        raise AssertionError(f"only bool and floating types of masks are supported, got {mask.dtype}")
    return zeros(size_of(mask), dtype=like.dtype).masked_fill(mask, -math.inf)


def projected(
    query: Tensor, key: Tensor, value: Tensor, weights: Any, bias: Tensor | None, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by one matrix for all, or by three."""
    if isinstance(weights, tuple):
        parts = bias.chunk(3) if bias is not None else (None, None, None)
        q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, parts, strict=True))
        return q, k, v
    if query is key and key is value:
        made = linear(query, weights, bias)
        return made[..., :width], made[..., width : 2 * width], made[..., 2 * width :]
    parts = bias.chunk(3) if bias is not None else (None, None, None)
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights.chunk(3), parts, strict=True))
    return q, k, v


def in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Queries, keys and values by the three parts of one matrix."""
    return list(projected(q, k, v, w, b, size_of(q)[-1]))


def in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None,
    b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries, keys and values by a matrix each, of which those of keys and values are as high as they are wide."""
    width = size_of(q)[-1]
    matrices = ("w_q", w_q, q), ("w_k", w_k, k), ("w_v", w_v, v)
    wanted = {name: (w, (width, size_of(x)[-1])) for name, w, x in matrices}
    wanted |= {name: (x, (width,)) for name, x in (("b_q", b_q), ("b_k", b_k), ("b_v", b_v)) if x is not None}
    for name, (x, shape) in wanted.items():
        if size_of(x) != shape:
            raise AssertionError(f"_in_projection: expected {name} of shape {shape}, but got {tuple(size_of(x))}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask as numbers that are added; True means that a key is not looked at."""
    if mask is None:
        return None
    kind = mask._kind_of()
    if kind.dtype != "bool" and not kind.is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported, got {mask.dtype}")
    if kind.is_float:
        return mask
    return zeros(size_of(mask), dtype=target_type).masked_fill(mask, -math.inf)


def none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor, if there is one."""
    return None if input is None else input.dtype


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention of several heads over [n, batch, width]; the result, and the weights if they are needed."""
    drawn = None
    if training and dropout_p:
        _check_heads(query, key, value, key_padding_mask, attn_mask, embed_dim_to_check, num_heads)
        shape = size_of(query)
        keys = (key if static_k is None else static_k).size(0 if static_k is None else 1)
        columns = keys + (bias_k is not None and bias_v is not None) + bool(add_zero_attn)
        batch = shape[1] if len(shape) == 3 else 1
        drawn = coins((batch * num_heads, shape[0], columns), 1 - dropout_p, query)
    return _multi_head_attention(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
        dropout_p, out_proj_weight, out_proj_bias, key_padding_mask, need_weights, attn_mask, use_separate_proj_weight,
        q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v, average_attn_weights, is_causal, drawn,
    )  # fmt: skip


@recorded
def _multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, key_padding_mask: Tensor | None, need_weights: bool,
    attn_mask: Tensor | None, use_separate_proj_weight: bool, q_proj_weight: Tensor | None,
    k_proj_weight: Tensor | None, v_proj_weight: Tensor | None, static_k: Tensor | None, static_v: Tensor | None,
    average_attn_weights: bool, is_causal: bool, drawn: Tensor | None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, batch, width = size_of(query)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = projected(query, key, value, weights, in_proj_bias, width)
    mask, keys = _added(attn_mask, q), _added(key_padding_mask, q)
    if mask is not None and len(size_of(mask)) == 2:
        mask = mask.unsqueeze(0)
    if bias_k is not None and bias_v is not None:
        k, v = (cat([x, b.repeat(1, batch, 1)]) for x, b in ((k, bias_k), (v, bias_v)))
        mask, keys = (None if x is None else pad(x, (0, 1)) for x in (mask, keys))
    size = width // num_heads
    q = q.reshape(rows, batch * num_heads, size).transpose(0, 1)
    k = k.reshape(-1, batch * num_heads, size).transpose(0, 1) if static_k is None else static_k
    v = v.reshape(-1, batch * num_heads, size).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        k, v = (cat([x, zeros((batch * num_heads, 1, size), dtype=x.dtype)], 1) for x in (k, v))
        mask, keys = (None if x is None else pad(x, (0, 1)) for x in (mask, keys))
    columns = size_of(k)[1]
    if keys is not None:
        spread = expand(keys.reshape(batch, 1, 1, columns), (batch, num_heads, 1, columns))
        spread = spread.reshape(batch * num_heads, 1, columns)
        mask = spread if mask is None else mask + spread
    made, found = heads_attend(q, k, v, mask, dropout_p, drawn)
    made = made.transpose(0, 1).reshape(rows * batch, width)
    made = linear(made, out_proj_weight, out_proj_bias).reshape(rows, batch, -1)
    if need_weights:
        found = found.reshape(batch, num_heads, rows, columns)
        found = found.mean(1) if average_attn_weights else found
        found = found if batched else found.squeeze(0)
    return made if batched else made.squeeze(1), found if need_weights else None


def heads_attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, drawn: Tensor | None
) -> tuple[Tensor, Tensor]:
    """[heads, n, width]: the result and the weights, both with their history."""
    given: list[Any] = [] if mask is None else [mask]
    if drawn is not None:
        given.append(drawn)
    p = 0.0 if drawn is None else real(p)
    factor = 1 / math.sqrt(size_of(q)[-1])
    cells, node = apply_all(HEADS, (q, k, v, *given), (int(mask is not None), bool(p), factor, False, p))
    return wrap(cells[0], node), wrap(cells[1], node, 1)


HEADS = Operation("attention", "BmmBackward0", _attend)


def _check_heads(
    query: Any, key: Any, value: Any, keys: Any, mask: Any, width: int, heads: int
) -> bool:
    """Whether there is a batch."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        need_tensor("multi_head_attention_forward", name, x)
    rank = len(size_of(query))
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    if len(size_of(key)) != rank or len(size_of(value)) != rank:
        raise AssertionError(f"For {'batched (3-D)' if rank == 3 else 'unbatched (2-D)'} `query`, expected `key` and"
                             f" `value` to be {rank}-D but found {len(size_of(key))}-D and {len(size_of(value))}-D")
    if keys is not None and len(size_of(keys)) != rank - 1:
        raise AssertionError(f"expected `key_padding_mask` to be {rank - 1}-D but found {len(size_of(keys))}-D")
    if mask is not None:
        shape, batch = size_of(mask), size_of(query)[1] if rank == 3 else 1
        if len(shape) not in (2, 3):
            raise (AssertionError if rank == 3 else RuntimeError)(f"expected `attn_mask` to be 2-D or 3-D but found"
                                                                  f" {len(shape)}-D")
        wanted = (size_of(query)[0], size_of(key)[0])
        wanted = wanted if len(shape) == 2 else (batch * heads, *wanted)
        if shape != wanted:
            raise RuntimeError(f"The shape of the {len(shape)}D attn_mask is {shape}, but should be {wanted}.")
    if size_of(query)[-1] != width:
        raise AssertionError(f"was expecting embedding dimension of {width}, but got {size_of(query)[-1]}")
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if size_of(key)[:-1] != size_of(value)[:-1]:
        raise AssertionError(f"key's sequence and batch dims {size_of(key)[:2]} do not match value's"
                             f" {size_of(value)[:2]}")
    return rank == 3


__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]
