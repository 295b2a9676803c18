"""Weights as length times direction, and weights divided by their largest singular value."""

from __future__ import annotations

from typing import Any

from ..tensor.face.tensor import Tensor
from ..tensor.ops.random.distributions import normal_
from ..tensor.reverse.modes import no_grad
from . import functional as F
from .module import Module
from .parametrize import register_parametrization


def lengths(v: Tensor, dim: int) -> Tensor:
    """The lengths of what is left of `v` at each place of a dimension; of all of it for -1."""
    if dim == -1:
        return (v * v).sum().sqrt()
    rest = [a for a in range(v.dim()) if a != dim % v.dim()]
    return (v * v).sum(rest, keepdim=True).sqrt() if rest else v.abs()


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / lengths(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return lengths(weight, self.dim), weight.detach().clone()


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Any:
    """Learn lengths and directions of a weight apart (Salimans and Kingma, 2016)."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.dim()}, {weight.dim() - 1}]"
                             f" but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim % weight.dim(), eps, n_power_iterations
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, F.normalize(normal_(matrix.new_empty(n), 0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        rest = [a for a in range(weight.dim()) if a != self.dim]
        return weight.permute(self.dim, *rest).reshape(weight.shape[self.dim], -1)

    def _power_method(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / u.dot(matrix @ v)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its largest singular value, found by power iterations (Miyato et al., 2018)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


__all__ = ["spectral_norm", "weight_norm"]
