"""The functions and dtypes of the face under the names that PyTorch gives them.

Many of these names are Python's own too, so nothing else is written here.  Whoever loads it has the class
Tensor loaded too, of which all results are.
"""

from __future__ import annotations

from ..calls import running  # noqa: F401 - calls of functions with Tensors, registered when it is imported
from ..calls.recording import record_functions
from ..ops.arranging import arranging as B
from ..ops.arranging import creation as CC
from ..ops.arranging import gathering as I
from ..ops.arranging import indexing as G
from ..ops.arranging import pieces as C
from ..ops.arranging import placing as J
from ..ops.arranging import ranges as RR
from ..ops.arranging import scattering as K
from ..ops.arranging import shapes as S
from ..ops.arranging import strides as Z
from ..ops.arranging.creation import (
    as_tensor,
    empty_like,
    from_numpy,
    full_like,
    ones_like,
    result_type,
    set_default_dtype,
    tensor,
    zeros_like,
)
from ..ops.arranging.indexing import select
from ..ops.arranging.ranges import arange, empty_permuted, empty_strided, scalar_tensor
from ..ops.elementwise import arithmetic as A
from ..ops.elementwise import bits as BB
from ..ops.elementwise import blends as BL
from ..ops.elementwise import complexes as CX
from ..ops.elementwise import elementary as E
from ..ops.elementwise import pointwise as V
from ..ops.elementwise import powers as PW
from ..ops.elementwise import softmax as M
from ..ops.folds import extremes as X
from ..ops.folds import histograms as HH
from ..ops.folds import norms as L
from ..ops.folds import reductions as R
from ..ops.folds import running as U
from ..ops.folds import searching as H
from ..ops.folds import sorting as O
from ..ops.folds import statistics as Y
from ..ops.matrices import affine as Q
from ..ops.matrices import diagonals as D
from ..ops.matrices import einsum as N
from ..ops.matrices import products as P
from ..ops.random.choices import multinomial
from ..ops.random.distributions import bernoulli, binomial, normal, poisson
from ..ops.random.draws import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)
from ..ops.windows.convolutions import conv1d, conv2d
from ..value import dtypes as T
from ..value.core import Core
from ..value.exchange import asarray, from_dlpack, frombuffer
from . import legacy as LE
from . import queries as QQ
from .printing import set_printoptions
from .results import written
from .tensor import Tensor

zeros, ones, empty, full = written(CC.zeros, CC.ones, CC.empty, CC.full)
eye, linspace, logspace = written(RR.eye, RR.linspace, RR.logspace)

add, sub, mul, div, pow = written(A.add, A.sub, A.mul, A.div, PW.pow_)
floor_divide, remainder, lerp = written(A.floor_divide, A.remainder, BL.lerp)
addcmul, addcdiv = written(BL.addcmul, BL.addcdiv)
eq, ne, lt, le, gt, ge = written(A.eq, A.ne, A.lt, A.le, A.gt, A.ge)
logical_and, logical_or, logical_xor = written(V.logical_and, V.logical_or, V.logical_xor)
logical_not, bitwise_not = written(E.logical_not, E.bitwise_not)
bitwise_and, bitwise_or, bitwise_xor = written(A.bitwise_and, A.bitwise_or, A.bitwise_xor)
maximum, minimum, hypot, clamp, where = written(V.maximum, V.minimum, V.hypot, A.clamp, H.where)
(masked_fill,) = written(A.masked_fill)

exp, exp2, expm1, log, log2, log10, log1p = written(E.exp, E.exp2, E.expm1, E.log, E.log2, E.log10, E.log1p)
sqrt, rsqrt, reciprocal, square = written(E.sqrt, E.rsqrt, E.reciprocal, E.square)
sin, cos, tan, sinh, cosh, tanh = written(E.sin, E.cos, E.tan, E.sinh, E.cosh, E.tanh)
asin, acos, atan, atan2 = written(E.asin, E.acos, E.atan, V.atan2)
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
sigmoid, relu, erf, sign, abs, neg = written(E.sigmoid, E.relu, E.erf, E.sign, E.abs_, E.neg)
floor, ceil, round, trunc = written(E.floor, E.ceil, V.round_, E.trunc)
isnan, isinf, isfinite, clone = E.isnan, E.isinf, E.isfinite, E.clone
subtract, multiply, divide, true_divide, rsub = sub, mul, div, div, V.rsub
absolute, negative, positive, fix, clip = abs, neg, V.positive, trunc, clamp
(less, less_equal, greater, greater_equal, not_equal) = (lt, le, gt, ge, ne)
asinh, acosh, atanh, deg2rad, rad2deg = written(V.asinh, V.acosh, V.atanh, V.deg2rad, V.rad2deg)
arcsinh, arccosh, arctanh = asinh, acosh, atanh
frac, sgn, signbit, nan_to_num, isposinf, isneginf = written(
    V.frac, V.sgn, V.signbit, V.nan_to_num, V.isposinf, V.isneginf
)
fmax, fmin, fmod, copysign, heaviside, ldexp = written(
    V.fmax, V.fmin, V.fmod, V.copysign, V.heaviside, V.ldexp
)
logaddexp, logaddexp2, float_power, nextafter = written(V.logaddexp, V.logaddexp2, V.float_power, BB.nextafter)
gcd, lcm, clamp_min, clamp_max = written(BB.gcd, BB.lcm, V.clamp_min, V.clamp_max)
bitwise_left_shift, bitwise_right_shift = written(BB.bitwise_left_shift, BB.bitwise_right_shift)
isreal, fill, frexp = V.isreal, V.fill, *written(BB.frexp)

sum, mean, prod, var, std, norm = written(R.sum_, R.mean, R.prod, R.var, R.std, L.norm)
(cumsum,) = written(R.cumsum)
isclose, allclose, equal = X.isclose, X.allclose, X.equal
amax, amin = written(X.amax, X.amin)
max, min = written(X.max_over, X.min_over)
argmax, argmin, any, all = written(X.argmax, X.argmin, X.any_, X.all_)
sort, topk, kthvalue, mode = written(O.sort, O.topk, O.kthvalue, O.mode)
argsort, msort, median, nanmedian = written(O.argsort, O.msort, O.median, O.nanmedian)
cummax, cummin, cumprod, logcumsumexp = written(O.cummax, O.cummin, U.cumprod, U.logcumsumexp)
searchsorted, bucketize, isin, histc = written(H.searchsorted, H.bucketize, H.isin, HH.histc)
unique, unique_consecutive, argwhere, nonzero = H.unique, H.unique_consecutive, H.argwhere, *written(H.nonzero)
nonzero_static, bincount, histogram, histogramdd = H.nonzero_static, HH.bincount, *written(HH.histogram), HH.histogramdd
nansum, nanmean, aminmax, quantile, nanquantile = written(Y.nansum, Y.nanmean, Y.aminmax, Y.quantile, Y.nanquantile)
std_mean, var_mean, count_nonzero, cov, corrcoef = Y.std_mean, Y.var_mean, Y.count_nonzero, Y.cov, Y.corrcoef
dist, cdist = L.dist, L.cdist
(diff, renorm) = written(U.diff, L.renorm)
trapezoid = trapz = U.trapezoid
cumulative_trapezoid, gradient = U.cumulative_trapezoid, U.gradient
softmax, log_softmax, logsumexp = written(M.softmax, M.log_softmax, M.logsumexp)

matmul, mm, mv, dot, bmm, addmm = written(P.matmul, P.mm, P.mv, P.dot, P.bmm, Q.addmm)
outer, einsum = written(P.outer, N.einsum)
ger, (vdot,) = outer, written(CX.vdot)
addmv, addr, addbmm, baddbmm = written(Q.addmv, Q.addr, Q.addbmm, Q.baddbmm)
inner, tensordot, kron, chain_matmul = written(N.inner, N.tensordot, N.kron, N.chain_matmul)

index_add, index_copy, scatter = written(K.index_add, K.index_copy, J.scatter)
take, take_along_dim, select_scatter, slice_scatter = (
    *written(J.take, J.take_along_dim), J.select_scatter, *written(J.slice_scatter),
)  # fmt: skip
put, scatter_reduce, index_reduce = J.put, *written(J.scatter_reduce, J.index_reduce)
gather, index_select, masked_select = written(I.gather, I.index_select, I.masked_select)
as_strided, as_strided_scatter, resize_as_ = Z.as_strided, Z.as_strided_scatter, Z.resize_as_
alias_copy, view_copy, as_strided_copy, diagonal_copy = written(
    Z.alias_copy, Z.view_copy, Z.as_strided_copy, Z.diagonal_copy
)
expand_copy, narrow_copy, permute_copy, split_copy = written(
    Z.expand_copy, Z.narrow_copy, Z.permute_copy, Z.split_copy
)
split_with_sizes_copy, squeeze_copy, t_copy = written(Z.split_with_sizes_copy, Z.squeeze_copy, Z.t_copy)
transpose_copy, unbind_copy, unfold_copy = written(Z.transpose_copy, Z.unbind_copy, Z.unfold_copy)
unsqueeze_copy, select_copy = written(Z.unsqueeze_copy, Z.select_copy)
scatter_add, tril, triu = written(K.scatter_add, K.tril, K.triu)
index_fill, masked_scatter, index_put = K.index_fill, K.masked_scatter, G.index_put

reshape, flatten, permute, transpose, t = S.reshape, S.flatten, S.permute, S.transpose, S.t
movedim, squeeze, unsqueeze, narrow = S.movedim, S.squeeze, S.unsqueeze, S.narrow
cat, stack = written(C.cat, C.stack)
split, chunk, unbind, flip = C.split, C.chunk, C.unbind, C.flip
broadcast_tensors, diagonal = S.broadcast_tensors, S.diagonal
concat = concatenate = cat
hstack, vstack, dstack, column_stack = written(B.hstack, B.vstack, B.dstack, B.column_stack)
row_stack, moveaxis, swapaxes, swapdims, broadcast_to = vstack, movedim, transpose, transpose, S.broadcast_to
atleast_1d, atleast_2d, atleast_3d = B.atleast_1d, B.atleast_2d, B.atleast_3d
tensor_split, hsplit, vsplit, dsplit = B.tensor_split, B.hsplit, B.vsplit, B.dsplit
split_with_sizes, ravel, unflatten, broadcast_shapes = B.split_with_sizes, B.ravel, B.unflatten, B.broadcast_shapes
unsafe_split, unsafe_chunk, unsafe_split_with_sizes = split, chunk, split_with_sizes
tile, repeat_interleave, roll, rot90 = B.tile, B.repeat_interleave, B.roll, B.rot90
fliplr, flipud = B.fliplr, B.flipud
(diag,) = written(D.diag)
diag_embed, diagflat, diagonal_scatter, block_diag = D.diag_embed, D.diagflat, D.diagonal_scatter, D.block_diag
tril_indices, triu_indices, unravel_index = D.tril_indices, D.triu_indices, D.unravel_index
meshgrid, cartesian_prod, combinations, vander = D.meshgrid, D.cartesian_prod, D.combinations, D.vander

bool, int, long, float, double = T.bool_, T.int32, T.int64, T.float32, T.float64
uint8, int8, int16, short = T.uint8, T.int8, T.int16, T.int16
uint16, uint32, uint64 = T.uint16, T.uint32, T.uint64


FloatTensor, DoubleTensor, LongTensor, IntTensor = LE.FloatTensor, LE.DoubleTensor, LE.LongTensor, LE.IntTensor
HalfTensor, BFloat16Tensor = LE.HalfTensor, LE.BFloat16Tensor
ShortTensor, CharTensor, ByteTensor, BoolTensor = LE.ShortTensor, LE.CharTensor, LE.ByteTensor, LE.BoolTensor
range = LE.range
slice_copy, get_device, is_conj, is_neg = *written(Z.slice_copy), QQ.get_device, QQ.is_conj, QQ.is_neg
finfo, iinfo, promote_types, can_cast, typename = QQ.finfo, QQ.iinfo, QQ.promote_types, QQ.can_cast, QQ.typename
strided, contiguous_format, preserve_format = QQ.strided, QQ.contiguous_format, QQ.preserve_format
channels_last = QQ.channels_last
pi, e, inf, nan, newaxis = QQ.pi, QQ.e, QQ.inf, QQ.nan, QQ.newaxis
is_floating_point, is_complex, is_signed, is_nonzero = (
    QQ.is_floating_point, QQ.is_complex, QQ.is_signed, QQ.is_nonzero,
)  # fmt: skip
is_inference, numel, is_same_size = QQ.is_inference, QQ.numel, Z.is_same_size
detach, detach_ = QQ.detach, QQ.detach_
dtype, layout, memory_format = T.DType, QQ.Layout, QQ.MemoryFormat


def is_tensor(obj: object):
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Core)


record_functions(globals())

__all__ = [  # what is defined elsewhere
    "Generator",
    "Tensor",
    "arange",
    "as_tensor",
    "asarray",
    "bernoulli",
    "binomial",
    "conv1d",
    "conv2d",
    "default_generator",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full_like",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "ones_like",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "result_type",
    "scalar_tensor",
    "seed",
    "select",
    "set_default_dtype",
    "set_printoptions",
    "set_rng_state",
    "tensor",
    "zeros_like",
]
