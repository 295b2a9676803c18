"""Orthogonal weights: any matrix in, one with orthonormal rows or columns out, by one of three maps.

    A = tril(X) - tril(X)^H    exp(A), or (I - A/2)^-1 (I + A/2): Cayley's
    H_1 ... H_k                reflections at the columns of X below its diagonal
"""

from __future__ import annotations

from typing import Any

from ..tensor.face.queries import finfo
from ..tensor.face.tensor import Tensor
from ..tensor.ops.arranging.creation import zeros_like
from ..tensor.ops.arranging.pieces import cat
from ..tensor.ops.arranging.ranges import eye
from ..tensor.ops.elementwise.arithmetic import where
from ..tensor.ops.folds.extremes import allclose
from ..tensor.ops.matrices.factorings import householder_product
from ..tensor.ops.matrices.lowrank import geqrf
from ..tensor.ops.matrices.matrix_functions import matrix_exp
from ..tensor.ops.matrices.solving import solve
from ..tensor.ops.random.draws import randn
from .module import Module
from .parametrize import register_parametrization

MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    return bool(allclose(q.mH @ q, eye(k, dtype=q.dtype), atol=10 * n * finfo(q.dtype).eps))


def _made_orthogonal(x: Tensor) -> Tensor:
    """Q of QR, whose R has a positive diagonal."""
    a, tau = geqrf(x)
    return householder_product(a, tau) * a.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.shape[-2:]
        if n < k:
            return self._tall(X.mT).mT
        return self._tall(X)

    def _tall(self, x: Tensor) -> Tensor:
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            a = x.tril(-1)
            q = householder_product(a, 2.0 / (1.0 + (a * a).sum(-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                x = cat([x, x.new_zeros(*x.shape[:-1], n - k)], -1)
            a = x - x.mH
            one = eye(n, dtype=x.dtype)
            q = matrix_exp(a) if self.orthogonal_map == "matrix_exp" else solve(one - 0.5 * a, one + 0.5 * a)
            q = q[..., :k]
        return self.base @ q if hasattr(self, "base") else q

    def right_inverse(self, value: Tensor) -> Tensor:
        if value.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape"
                             f" {value.shape}.")
        n, k = value.shape[-2:]
        q = value if n >= k else value.mT
        if hasattr(self, "base"):
            self.base = self._frame(q)
            start = zeros_like(value)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley"
                                      " parametrizations when use_trivialization=False.")
        a, tau = geqrf(q)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        signs = diagonal.sign()  # `forward` reflects for every column, LAPACK not where tau is zero
        diagonal.copy_(where(tau == 0, -signs, signs))
        return a if n >= k else a.mT

    def _frame(self, q: Tensor) -> Tensor:
        """A square orthogonal matrix whose first columns are those of `q`, or what QR makes of them."""
        n, k = q.shape[-2:]
        if n > k:
            return _made_orthogonal(cat([q, randn(*q.shape[:-2], n, n - k, dtype=q.dtype)], -1))
        return q.clone() if _is_orthogonal(q) else _made_orthogonal(q)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keep a weight orthogonal, or with orthonormal rows or columns (Lezcano-Casado and Martínez-Rubio, 2019)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got:'
                         f" {orthogonal_map}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


__all__ = ["orthogonal"]
