"""The functions and dtypes of the face under the names that PyTorch gives them.

Many of these names are Python's own too, so nothing else is written here.  Whoever loads it has the class
Tensor loaded too, of which all results are.
"""

from __future__ import annotations

from . import arithmetic as A
from . import dtypes as T
from . import elementary as E
from . import extremes as X
from . import indexing as G
from . import pieces as C
from . import products as P
from . import reductions as R
from . import scattering as K
from . import shapes as S
from . import softmax as M
from .convolutions import conv1d, conv2d
from .core import Core
from .creation import (
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    result_type,
    set_default_dtype,
    tensor,
    zeros,
    zeros_like,
)
from .draws import (
    Generator,
    bernoulli,
    initial_seed,
    manual_seed,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
)
from .gathering import gather, index_select, masked_select
from .indexing import select
from .results import written
from .tensor import Tensor

add, sub, mul, div, pow = written(A.add, A.sub, A.mul, A.div, A.pow_)
floor_divide, remainder, lerp = written(A.floor_divide, A.remainder, A.lerp)
addcmul, addcdiv = written(A.addcmul, A.addcdiv)
eq, ne, lt, le, gt, ge = written(A.eq, A.ne, A.lt, A.le, A.gt, A.ge)
logical_and, logical_or, logical_xor = written(A.logical_and, A.logical_or, A.logical_xor)
logical_not, bitwise_not = written(E.logical_not, E.bitwise_not)
bitwise_and, bitwise_or, bitwise_xor = written(A.bitwise_and, A.bitwise_or, A.bitwise_xor)
maximum, minimum, hypot, clamp, where = written(A.maximum, A.minimum, A.hypot, A.clamp, A.where)
(masked_fill,) = written(A.masked_fill)

exp, exp2, expm1, log, log2, log10, log1p = written(E.exp, E.exp2, E.expm1, E.log, E.log2, E.log10, E.log1p)
sqrt, rsqrt, reciprocal, square = written(E.sqrt, E.rsqrt, E.reciprocal, E.square)
sin, cos, tan, sinh, cosh, tanh = written(E.sin, E.cos, E.tan, E.sinh, E.cosh, E.tanh)
asin, acos, atan, atan2 = written(E.asin, E.acos, E.atan, A.atan2)
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
sigmoid, relu, erf, sign, abs, neg = written(E.sigmoid, E.relu, E.erf, E.sign, E.abs_, E.neg)
floor, ceil, round, trunc = written(E.floor, E.ceil, E.round_, E.trunc)
isnan, isinf, isfinite, clone = E.isnan, E.isinf, E.isfinite, E.clone

sum, mean, prod, var, std, norm = written(R.sum_, R.mean, R.prod, R.var, R.std, R.norm)
(cumsum,) = written(R.cumsum)
isclose, allclose, equal = X.isclose, X.allclose, X.equal
amax, amin = written(X.amax, X.amin)
max, min = X.max_over, X.min_over
argmax, argmin, any, all = written(X.argmax, X.argmin, X.any_, X.all_)
softmax, log_softmax, logsumexp = written(M.softmax, M.log_softmax, M.logsumexp)

matmul, mm, mv, dot, bmm, addmm = written(P.matmul, P.mm, P.mv, P.dot, P.bmm, P.addmm)
outer, einsum = written(P.outer, P.einsum)

index_add, index_copy, scatter = written(K.index_add, K.index_copy, K.scatter)
scatter_add, tril, triu = written(K.scatter_add, K.tril, K.triu)
index_fill, masked_scatter, index_put = K.index_fill, K.masked_scatter, G.index_put

reshape, flatten, permute, transpose, t = S.reshape, S.flatten, S.permute, S.transpose, S.t
movedim, squeeze, unsqueeze, narrow = S.movedim, S.squeeze, S.unsqueeze, S.narrow
cat, stack = written(C.cat, C.stack)
split, chunk, unbind, flip = C.split, C.chunk, C.unbind, C.flip
broadcast_tensors, diagonal = S.broadcast_tensors, S.diagonal

bool, int, long, float, double = T.bool_, T.int32, T.int64, T.float32, T.float64


def is_tensor(obj: object):
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Core)


__all__ = [  # what is defined elsewhere
    "Generator",
    "Tensor",
    "arange",
    "as_tensor",
    "bernoulli",
    "conv1d",
    "conv2d",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "index_select",
    "initial_seed",
    "linspace",
    "manual_seed",
    "masked_select",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "result_type",
    "select",
    "set_default_dtype",
    "tensor",
    "zeros",
    "zeros_like",
]
