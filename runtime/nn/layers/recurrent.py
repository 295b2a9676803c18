"""Recurrent layers and cells: RNN, LSTM, GRU."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from ...tensor.calls.calls import recorded
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import zeros
from ...tensor.ops.arranging.pieces import cat, stack
from .. import functional as F
from .. import init
from ..functional.recurrent import GATES, cell, layer, states_of
from ..module import Module
from ..parameter import Parameter, blank
from ..sequences import PackedSequence, lengths_of, packed, padded


class RNNBase(Module):
    """Layers in one direction or both, each a loop over time; weights are drawn evenly within 1/sqrt(hidden_size)."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check()
        if dropout and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers"
                f" greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        rows, out = GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for k in range(num_layers):
            inner = input_size if k == 0 else out * (1 + bidirectional)
            shapes = {"weight_ih": (rows, inner), "weight_hh": (rows, out)}
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
            shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
            for suffix in (f"_l{k}", f"_l{k}_reverse") if bidirectional else (f"_l{k}",):
                for name, shape in shapes.items():
                    setattr(self, name + suffix, blank(*shape, dtype=dtype, device=device))
                self._all_weights.append([name + suffix for name in shapes])
        self.reset_parameters()

    def _check(self) -> None:
        for name in ("input_size", "hidden_size", "num_layers"):
            n = getattr(self, name)
            if not isinstance(n, int):
                raise TypeError(f"{name} should be of type int, got: {type(n).__name__}")
            if n <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if not 0 <= self.dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element"
                             " being zeroed")
        if self.proj_size and self.mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _flat_weights_names(self) -> list[str]:
        """The names of all weights, in their order."""
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        """All weights."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, value: list[Any]) -> None:
        if any(getattr(self, name) is not x for name, x in zip(self._flat_weights_names, value, strict=True)):
            raise NotImplementedError("_flat_weights are the attributes of the layer: set those by their names")

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: the layout of weights in memory makes no difference here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._of_packed(input, hx)
        if not isinstance(input, Tensor):
            raise TypeError(f"{self._get_name()}: input must be a Tensor or PackedSequence, got {type(input).__name__}")
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        axis = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(axis)
        states = self._states(x.shape[axis], hx, batched, x)
        out, last = self._run(x, states, None, self.batch_first)
        out = out.transpose(0, 1) if self.batch_first else out
        out = out if batched else out.squeeze(axis)
        last = [s if batched else s.squeeze(1) for s in last]
        return out, self._given_back(last)

    def _of_packed(self, input: PackedSequence, hx: Any) -> Any:
        """Sequences of several lengths as a rectangle in which those that have ended stand still."""
        x, lengths = padded(input)
        states = self._states(x.shape[1], hx, True, x)
        order, back = input.sorted_indices, input.unsorted_indices
        if hx is not None and order is not None:
            states = [s.index_select(1, order) for s in states]
        out, last = self._run(x, states, (lengths_of(lengths), input.batch_sizes))
        if back is not None:
            last = [s.index_select(1, back) for s in last]
        made = PackedSequence(packed(out, input.batch_sizes), input.batch_sizes, order, back)
        return made, self._given_back(last)

    def _given_back(self, last: list[Tensor]) -> Any:
        return tuple(last) if self.mode == "LSTM" else last[0]

    def _states(self, batch: int, hx: Any, batched: bool, x: Tensor) -> list[Tensor]:
        """The first states [layers * directions, batch, n], zeros if none were given."""
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        if x.dtype != self.all_weights[0][0].dtype:
            raise ValueError(f"RNN input dtype ({x.dtype}) does not match weight dtype"
                             f" ({self.all_weights[0][0].dtype}). Convert input or weights")
        count = self.num_layers * (1 + self.bidirectional)
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: states_of(self.mode)]
        if hx is None:
            return [zeros((count, batch, n), dtype=x.dtype) for n in widths]
        given = list(hx) if self.mode == "LSTM" else [hx]
        for name, s, n in zip(("hidden[0]", "hidden[1]"), given, widths, strict=False):
            if s.dim() != (3 if batched else 2):
                raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should also"
                                   f" be {3 if batched else 2}-D but got {s.dim()}-D tensor")
            wanted = (count, batch, n) if batched else (count, n)
            if tuple(s.shape) != wanted:
                raise RuntimeError(f"Expected {name} size {wanted}, got {list(s.shape)}")
        return given if batched else [s.unsqueeze(1) for s in given]

    def _run(
        self, x: Tensor, states: list[Tensor], ends_of: tuple[Tensor, Tensor] | None, batch_first: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """All layers; `ends_of` packed sequences are their lengths and how many there are at each step."""
        lengths, sizes = ends_of or (None, None)
        ends: list[list[Tensor]] = []
        directions = 1 + self.bidirectional
        for k in range(self.num_layers):
            made = []
            for d in range(directions):
                at = k * directions + d
                weights = [getattr(self, name) for name in self._all_weights[at]]
                names = [name.replace("weight", "w").replace("bias", "b")[:4] for name in self._all_weights[at]]
                if lengths is not None:
                    weights, names = [*weights, lengths], [*names, "lengths"]
                turned = batch_first and k == 0
                out, *end = layer(self.mode, x, states, at, tuple(names), weights, d == 1, turned)
                made.append(out)
                ends.append(end)
            x = cat(made, 2) if directions == 2 else made[0]
            if self.dropout and self.training and k + 1 < self.num_layers:
                x = self._dropped(x, sizes)
        return x, [_stack([end[j] for end in ends]) for j in range(len(states))]

    def _dropped(self, x: Tensor, sizes: Tensor | None) -> Tensor:
        """What is between two layers: of packed sequences, numbers are drawn for the steps that are there."""
        if sizes is None:
            return F.dropout(x, self.dropout)
        return padded(PackedSequence(F.dropout(packed(x, sizes), self.dropout), sizes))[0]

    def extra_repr(self) -> str:
        said = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
            ("bidirectional", False),
        ):  # fmt: skip
            if getattr(self, name) != usual:
                said += f", {name}={getattr(self, name)}"
        return said


class RNN(RNNBase):
    """h = tanh(W x + b + W' h + b'), or with relu."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        args_list = list(args)
        at = 3  # input_size, hidden_size, num_layers, nonlinearity
        given = args_list.pop(at) if len(args_list) > at else None
        self_said = kwargs.pop("nonlinearity", "tanh") if given is None else given
        if self_said not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self_said}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self_said.upper()}", *args_list, **kwargs)
        self.nonlinearity = self_said


class LSTM(RNNBase):
    """Long short-term memory: gates decide what its cell keeps, takes in and shows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


# ---- cells


class RNNCellBase(Module):
    """One step of a recurrent layer."""

    mode: ClassVar[str]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = blank(rows, input_size, dtype=dtype, device=device)
        self.weight_hh = blank(rows, hidden_size, dtype=dtype, device=device)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, blank(rows, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, mode: str, input: Tensor, given: Sequence[Any] | None) -> list[Tensor]:
        sizes, weights = (self.input_size, self.hidden_size), [self.weight_ih, self.weight_hh]
        if self.bias_ih is not None:
            weights += [self.bias_ih, self.bias_hh]
        return _checked_cell(mode, self._get_name(), sizes, input, given, weights)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


def _check_and_step(
    mode: str, name: str, sizes: tuple[int, int], input: Tensor, given: Sequence[Any] | None, weights: Sequence[Tensor]
) -> list[Tensor]:
    """One step of a cell, batched or not, if the shapes fit."""
    width, hidden = sizes
    if input.dim() not in (1, 2):
        raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
    batched = input.dim() == 2
    x = input if batched else input.unsqueeze(0)
    if x.shape[1] != width:
        raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {width}")
    if given is None:
        given = [zeros((x.shape[0], hidden), dtype=x.dtype)] * states_of(mode)
    else:
        for k, h in enumerate(given):
            if h.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected hx[{k}] to be 1D or 2D, got {h.dim()}D instead")
        given = given if batched else [h.unsqueeze(0) for h in given]
        for h in given:
            if tuple(h.shape) != (x.shape[0], hidden):
                raise RuntimeError(f"hidden state of {list(h.shape)} has inconsistent sizes: expected"
                                   f" {[x.shape[0], hidden]}")
    made = cell(mode, x, given, weights)
    return made if batched else [h.squeeze(0) for h in made]


_checked_cell, _stack = recorded(_check_and_step), recorded(stack)


class RNNCell(RNNCellBase):
    """h = tanh(W x + b + W' h + b'), or with relu."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else [hx])[0]

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """One step of an LSTM: from (h, c) to (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        h, c = self._step("LSTM", input, hx)
        return h, c


class GRUCell(RNNCellBase):
    """One step of gated recurrent units."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, None if hx is None else [hx])[0]
