"""Layers: linear maps, nonlinearities and what reshapes or thins their input."""

from __future__ import annotations

import math
from typing import Any

from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter, blank


class Linear(Module):
    """x @ weight.T + bias, with weights drawn evenly within 1/sqrt(in_features)."""

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = blank(out_features, in_features, dtype=dtype, device=device)
        if bias:
            self.bias = blank(out_features, dtype=dtype, device=device)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        has = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has}"


class Identity(Module):
    """What came in."""

    def forward(self, input: Tensor) -> Tensor:
        return input


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class GELU(Module):
    """x times the normal distribution function."""

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input)

    def extra_repr(self) -> str:
        return "approximate='none'"


class Softplus(Module):
    """log(1 + exp(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input)

    def extra_repr(self) -> str:
        return "beta=1.0, threshold=20.0"


class _Along(Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Along):
    """Exponentials divided by their sum along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_Along):
    """The logarithm of softmax along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Flatten(Module):
    """Dimensions start_dim .. end_dim made into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Module):
    """While training, zeros with probability p; the rest is scaled up by 1 / (1 - p)."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace=False"
