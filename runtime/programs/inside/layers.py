"""PyTorch's inner layers at its top level: recurrent ones from weights in a list, and what normalising layers return.

    torch.lstm(input, (h, c), weights, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    torch.lstm(data, batch_sizes, (h, c), weights, has_biases, num_layers, dropout, train, bidirectional)
    torch.gru_cell(input, h, w_ih, w_hh, b_ih, b_hh)
    torch.native_layer_norm(input, shape, weight, bias, eps)    the result, means and reciprocal deviations
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...compiled.byname import name_in
from ...nn import functional as F
from ...nn.functional.embedding import renormed
from ...nn.functional.recurrent import cell, layer, states_of
from ...nn.sequences import PackedSequence, lengths_of, packed, padded
from ...tensor.face.functions import rsqrt, var_mean
from ...tensor.face.results import written
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.pieces import cat, stack

# ---- recurrent


def _cell(mode: str) -> Callable[..., Any]:
    """One step of a layer."""

    def step(
        input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Any:
        weights = [w for w in (w_ih, w_hh, b_ih, b_hh) if w is not None]
        made = cell(mode, input, list(hx) if mode == "LSTM" else [hx], weights)
        return tuple(made) if mode == "LSTM" else made[0]

    step.__name__ = step.__qualname__ = f"{mode.lower()}_cell"
    step.__doc__ = "One step from the input, the state and the weights."
    return step


lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell = map(_cell, ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"))


def _run(
    mode: str, x: Tensor, states: list[Tensor], weights: Sequence[Tensor], biased: bool, layers: int, dropout: float,
    both: bool, sizes: Tensor | None, lengths: Tensor | None,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """The outputs of the last layer, and the last states of all."""
    names = ("w_ih", "w_hh", "b_ih", "b_hh")[: 4 if biased else 2]
    count = len(weights) // (layers * (1 + both))
    if count not in (len(names), len(names) + 1) or len(weights) % count:
        raise RuntimeError(f"{mode.lower()}: got an incorrect number of RNN parameters: {len(weights)}")
    names = (*names, *("w_hr",)[: count - len(names)], *(() if lengths is None else ("lengths",)))
    ends: list[list[Tensor]] = []
    for k in range(layers):
        made = []
        for d in range(1 + both):
            at = k * (1 + both) + d
            given = [*weights[at * count : (at + 1) * count], *(() if lengths is None else (lengths,))]
            out, *end = layer(mode, x, states, at, names, given, d == 1)
            made.append(out)
            ends.append(end)
        x = cat(made, 2) if both else made[0]
        if dropout and k + 1 < layers:
            if sizes is None:
                x = F.dropout(x, dropout)
            else:
                x = padded(PackedSequence(F.dropout(packed(x, sizes), dropout), sizes))[0]
    return x, [stack([end[j] for end in ends]) for j in range(len(states))]


def _layers(mode: str) -> Callable[..., Any]:
    """Layers of one kind: from a rectangle of sequences and a state, or from packed ones and their sizes."""
    name = mode.lower()

    def run(input: Tensor, second: Any, third: Any, *rest: Any) -> Any:
        is_packed = isinstance(third, Tensor) or (mode == "LSTM" and isinstance(second, Tensor))
        hx, weights = (third, rest[0]) if is_packed else (second, third)
        options = rest[1:] if is_packed else rest
        if len(options) != 5 + (not is_packed):
            raise TypeError(
                f"{name}(): expected has_biases, num_layers, dropout, train, bidirectional"
                f"{'' if is_packed else ' and batch_first'} after the weights, got {len(options)} arguments"
            )
        biased, layers, dropout, train, both, *first = options
        x, turned, lengths = input, bool(first and first[0]), None
        if is_packed:
            x, found = padded(PackedSequence(input, second))
            lengths = lengths_of(found)
        elif turned:
            x = input.transpose(0, 1)
        states = list(hx) if states_of(mode) == 2 else [hx]
        sizes = second if is_packed else None
        dropout = dropout if train else 0.0
        out, last = _run(mode, x, states, list(weights), biased, layers, dropout, both, sizes, lengths)
        out = packed(out, second) if is_packed else out.transpose(0, 1) if turned else out
        return (out, *last)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = "The outputs and the last states, from the input, the first states and the weights."
    return run


lstm, gru, rnn_tanh, rnn_relu = map(_layers, ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"))

# ---- normalising: moments of layers and batches lead nowhere, those of groups do, as in PyTorch


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """What `nn.functional.layer_norm` gives, the means and the reciprocal deviations."""
    axes = tuple(range(-len(tuple(normalized_shape)), 0))
    var, mean = var_mean(input, axes, correction=0, keepdim=True)
    return F.layer_norm(input, normalized_shape, weight, bias, eps), mean.detach(), rsqrt(var + eps).detach()


def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """What `nn.functional.batch_norm` gives, the means and the reciprocal deviations, which are empty in evaluation."""
    made = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return made, input.new_empty(0), input.new_empty(0)
    var, mean = var_mean(input, [k for k in range(input.dim()) if k != 1], correction=0)
    return made, mean.detach(), rsqrt(var + eps).detach()


(native_batch_norm,) = written(native_batch_norm)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """What `nn.functional.group_norm` gives, the means and the reciprocal deviations of the groups."""
    var, mean = var_mean(input.reshape(N, group, C // group * HxW), -1, correction=0)
    return F.group_norm(input, group, weight, bias, eps), mean, rsqrt(var + eps)


# ---- others


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution along time of [time, batch, channels] with weights [width, channels, outputs]."""
    return F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows of a table that are named to a norm of at most `max_norm`, in place."""
    renormed(weight, indices, max_norm, norm_type)
    return weight


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest of each window, and where it was."""
    given = stride if stride != () else None
    return F.max_pool1d(input, kernel_size, given, padding, dilation, ceil_mode, return_indices=True)  # type: ignore[return-value]


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """See `nn.functional.channel_shuffle`."""
    return F.channel_shuffle(input, groups)


name_in(globals())
