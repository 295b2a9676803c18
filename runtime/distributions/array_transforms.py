"""Transforms of whole vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from ..nn import functional as F
from ..tensor.face import functions as T
from ..tensor.face import linalg_functions as linalg
from ..tensor.value.dtypes import Size
from . import constraints
from .transform import Transform, _Plain, inside, need_dims
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

# ---- probabilities


class SoftmaxTransform(_Plain):
    """Numbers to the probabilities that they are the logarithms of, up to a factor; the inverse takes logarithms."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return F.softmax(x, dim=-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The same shape, which needs a dimension."""
        need_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Plain):
    """n numbers to n + 1 probabilities: each says which part of what is left of a stick breaks off next.

    Equal parts come of zeros, for which the logarithm of the number of parts still to come is taken off.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        part = inside(T.sigmoid(x - _parts_to_come(x).log()))
        one = T.ones_like(part[..., :1])
        left = T.cat([one, (1 - part).cumprod(-1)], -1)
        return T.cat([part, one], -1) * left

    def _inverse(self, y: Any) -> Any:
        y = y[..., :-1]
        left = (1 - y.cumsum(-1)).clamp(min=T.finfo(y.dtype).tiny)
        return y.log() - left.log() + _parts_to_come(y).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The Jacobian is triangular; on its diagonal is part (1 - part) left, where part left is y."""
        return (F.logsigmoid(_parts_to_come(x).log() - x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One more in the last dimension."""
        need_dims(shape, 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        """One less in the last dimension."""
        need_dims(shape, 1)
        return (*shape[:-1], shape[-1] - 1)


def _parts_to_come(x: Any) -> Any:
    """n, n - 1, ..., 1."""
    return T.arange(x.shape[-1], 0, -1).to(x.dtype)


# ---- matrices


class LowerCholeskyTransform(_Plain):
    """Square matrices to lower triangles, with the exponentials of the diagonal; the inverse gives zeros above."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """Square matrices to positive definite ones, by their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix of n rows.

    Their hyperbolic tangents are partial correlations. A row takes from what is left of its length 1 as a stick is
    broken: the entry is the tangent times the root of what is left, and the diagonal is the root of the rest.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        self.forward_shape(x.shape)
        eps = T.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)
        left = T.cat([T.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (r + T.eye(r.shape[-1], dtype=r.dtype)) * left

    def _inverse(self, y: Any) -> Any:
        self.inverse_shape(y.shape)
        left = (1 - (y * y).cumsum(-1))[..., :-1]
        left = T.cat([T.ones_like(y[..., :1]), left], -1)
        # Only what is below the diagonal: above it nothing is left, and the slope of the root is infinite.
        return (tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The Jacobian is triangular: the tangent's slope, 1 - tanh², times the root of what is left for an entry."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)  # all is left for the first column: no logarithm
        slopes = 2 * (math.log(2) - x - F.softplus(-2 * x))
        return 0.5 * left.log().sum(-1) + slopes.sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """n (n - 1) / 2 in the last dimension become n by n."""
        need_dims(shape, 1)
        size = shape[-1]
        n = (1 + math.isqrt(1 + 8 * size)) // 2
        if n * (n - 1) // 2 != size:
            raise ValueError(f"{size} numbers do not fill a lower triangle without its diagonal")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        """n by n become n (n - 1) / 2 in the last dimension."""
        need_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"the matrices are not square: {tuple(shape)}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


# ---- shapes


class ReshapeTransform(Transform):
    """Another shape for the last dimensions."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(f"{tuple(self.in_shape)} and {tuple(self.out_shape)} have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Arrays of the first shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Arrays of the second shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        return self if cache_size == self._cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(self._outer(x.shape, self.in_shape) + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self._outer(y.shape, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Zeros: no volume changes."""
        return T.zeros(self._outer(x.shape, self.in_shape), dtype=x.dtype)

    @staticmethod
    def _outer(shape: Any, last: Any) -> Size:
        return Size(shape[: len(shape) - len(last)])

    def forward_shape(self, shape: Any) -> Any:
        """The shape with its last dimensions replaced."""
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape with its last dimensions replaced, the other way."""
        return self._replaced(shape, self.out_shape, self.in_shape)

    def _replaced(self, shape: Any, old: Size, new: Size) -> Any:
        need_dims(shape, len(old))
        outer = self._outer(shape, old)
        if tuple(shape[len(outer) :]) != tuple(old):
            raise ValueError(f"the last dimensions of {tuple(shape)} are not {tuple(old)}")
        return outer + new
