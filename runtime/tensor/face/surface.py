"""More methods: the functions of `pointwise`, `sorting`, `arranging` and their kin, under PyTorch's names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partialmethod
from typing import Any, NoReturn

from ..ops.arranging import arranging as B
from ..ops.arranging import pieces as C
from ..ops.arranging import placing as J
from ..ops.arranging import ranges as R
from ..ops.arranging import shapes as S
from ..ops.arranging import strides as Z
from ..ops.elementwise import arithmetic as A
from ..ops.elementwise import bends as BE
from ..ops.elementwise import bits as BB
from ..ops.elementwise import complexes as CX
from ..ops.elementwise import elementary as E
from ..ops.elementwise import pointwise as V
from ..ops.folds import histograms as HH
from ..ops.folds import norms as L
from ..ops.folds import running as U
from ..ops.folds import searching as H
from ..ops.folds import sorting as O
from ..ops.folds import statistics as Y
from ..ops.matrices import affine as Q
from ..ops.matrices import diagonals as D
from ..ops.matrices import einsum as N
from ..ops.matrices import products as P
from ..value.core import Core
from ..value.dtypes import ALL, DType, bfloat16, float16, int8, int16, uint8
from . import queries as QQ
from . import storages as ST
from .inplace import in_place, reshaping


def _sparsely(self: Core, name: str, *args: Any, **options: Any) -> Any:
    """A function of sparse tensors, which are loaded when one is asked for."""
    ours, _, _ = __name__.partition(".")
    assert sys.modules[ours].sparse
    return getattr(sys.modules[f"{ours}.runtime.sparse.operations"], name)(self, *args, **options)


class Pointwise(Core):
    """Element by element."""

    asinh, acosh, atanh, deg2rad, rad2deg = V.asinh, V.acosh, V.atanh, V.deg2rad, V.rad2deg
    arcsinh, arccosh, arctanh = asinh, acosh, atanh
    frac, sgn, signbit, nan_to_num, isposinf, isneginf = (
        V.frac, V.sgn, V.signbit, V.nan_to_num, V.isposinf, V.isneginf,
    )  # fmt: skip
    fix, positive, isreal, round, frexp = E.trunc, V.positive, V.isreal, V.round_, BB.frexp
    maximum, minimum, fmax, fmin, fmod = V.maximum, V.minimum, V.fmax, V.fmin, V.fmod
    copysign, heaviside, ldexp, hypot = V.copysign, V.heaviside, V.ldexp, V.hypot
    logaddexp, logaddexp2, float_power, nextafter = V.logaddexp, V.logaddexp2, V.float_power, BB.nextafter
    gcd, lcm, clamp_min, clamp_max = BB.gcd, BB.lcm, V.clamp_min, V.clamp_max
    bitwise_left_shift, bitwise_right_shift = BB.bitwise_left_shift, BB.bitwise_right_shift
    __lshift__, __rshift__ = BB.bitwise_left_shift, BB.bitwise_right_shift
    less, less_equal, greater, greater_equal, not_equal = A.lt, A.le, A.gt, A.ge, A.ne


class PointwiseInPlace(Pointwise):
    """The same, writing into the tensor."""

    asinh_, acosh_, atanh_ = in_place(V.asinh), in_place(V.acosh), in_place(V.atanh)
    arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_
    deg2rad_, rad2deg_, frac_, sgn_ = in_place(V.deg2rad), in_place(V.rad2deg), in_place(V.frac), in_place(V.sgn)
    nan_to_num_, fmod_, copysign_ = in_place(V.nan_to_num), in_place(V.fmod), in_place(V.copysign)
    fix_, round_, heaviside_, ldexp_ = in_place(E.trunc), in_place(V.round_), in_place(V.heaviside), in_place(V.ldexp)
    float_power_, nextafter_, hypot_ = V.float_power_, in_place(BB.nextafter), in_place(V.hypot)
    gcd_, lcm_ = in_place(BB.gcd), in_place(BB.lcm)
    clamp_min_, clamp_max_ = in_place(V.clamp_min), in_place(V.clamp_max)
    bitwise_left_shift_, bitwise_right_shift_ = in_place(BB.bitwise_left_shift), in_place(BB.bitwise_right_shift)
    __ilshift__, __irshift__ = bitwise_left_shift_, bitwise_right_shift_
    less_, less_equal_, not_equal_ = in_place(A.lt), in_place(A.le), in_place(A.ne)
    greater_, greater_equal_ = in_place(A.gt), in_place(A.ge)
    cumprod_, logcumsumexp_, renorm_ = in_place(U.cumprod), in_place(U.logcumsumexp), in_place(L.renorm)
    addmv_, addr_, addbmm_, baddbmm_ = in_place(Q.addmv), in_place(Q.addr), in_place(Q.addbmm), in_place(Q.baddbmm)


class Questions(PointwiseInPlace):
    """What the tensor is, and Python functions of its elements."""

    is_complex, is_signed, is_nonzero, is_set_to = QQ.is_complex, QQ.is_signed, QQ.is_nonzero, QQ.is_set_to
    storage_offset, data_ptr, type = QQ.storage_offset, QQ.data_ptr, QQ.type_
    apply_, map_, map2_ = QQ.apply_, QQ.map_, QQ.map2_
    layout = QQ.strided
    nbytes = property(QQ.nbytes)
    itemsize = property(lambda self: self.element_size())
    is_cpu, is_cuda, is_sparse, is_quantized, is_meta, is_mps, is_xla, is_nested = (True, *(False,) * 7)

    is_xpu = is_ipu = is_maia = is_mtia = is_vulkan = is_mkldnn = is_sparse_csr = False

    is_conj, is_neg, get_device = QQ.is_conj, QQ.is_neg, QQ.get_device
    const_data_ptr, is_distributed, name = QQ.data_ptr, QQ.is_conj, None
    new, storage, untyped_storage, as_subclass = ST.new, ST.storage, ST.untyped_storage, ST.as_subclass
    _make_subclass = staticmethod(ST.make_subclass)
    hardshrink, prelu, _conj = BE.hardshrink, BE.prelu, CX.conj
    is_pinned = is_shared = is_conj

    def ndimension(self) -> int:
        return len(self._kind_of().shape)

    def dim_order(self) -> tuple[int, ...]:
        return tuple(range(len(self._kind_of().shape)))

    def sparse_dim(self) -> int:
        return 0

    def _is_all_true(self) -> object:
        return self.all()  # type: ignore[attr-defined]

    def _is_any_true(self) -> object:
        return self.any()  # type: ignore[attr-defined]

    def __reversed__(self) -> object:
        return self.flip(0) if self._kind_of().shape else self  # type: ignore[attr-defined]

    def dense_dim(self) -> int:
        return len(self._kind_of().shape)

    to_sparse, to_sparse_csr, to_sparse_coo, sparse_mask = (
        partialmethod(_sparsely, name) for name in ("to_sparse", "to_sparse_csr", "to_sparse", "sparse_mask")
    )

    def to_dense(self, dtype: object = None) -> Any:
        return self


def _only_sparse(self: Core, name: str, layout: str) -> NoReturn:
    """Refuse what sparse tensors alone have, as PyTorch does."""
    raise RuntimeError(f"{name} expected sparse {layout}tensor layout but got Strided")


def _no_chalf(self: Core) -> object:
    known = ", ".join(map(repr, ALL.values()))
    raise NotImplementedError(f"elements of dtype torch.complex32 are not supported; there are {known}")


def _converting(dtype: DType) -> Callable[[Core], object]:
    def convert(self: Core) -> object:
        return QQ.type_(self, dtype)  # type: ignore[arg-type]

    return convert


class Conversions(Questions):
    """To dtypes of 8 and 16 bits; and to the one that there is not: an error that says which there are."""

    chalf = _no_chalf
    coalesce, is_coalesced, indices = (
        partialmethod(_only_sparse, name, "coordinate ") for name in ("coalesce", "is_coalesced", "indices")
    )
    values = partialmethod(_only_sparse, "values", "")
    crow_indices, col_indices = (
        partialmethod(_only_sparse, name, "row compressed ") for name in ("crow_indices", "col_indices")
    )
    half, bfloat16, byte, char, short = (_converting(d) for d in (float16, bfloat16, uint8, int8, int16))


class Orders(Conversions):
    """Sorting, searching, statistics."""

    sort, topk, kthvalue, mode = O.sort, O.topk, O.kthvalue, O.mode
    argsort, msort, median, nanmedian = O.argsort, O.msort, O.median, O.nanmedian
    cummax, cummin, cumprod, logcumsumexp = O.cummax, O.cummin, U.cumprod, U.logcumsumexp
    unique, unique_consecutive, nonzero, argwhere = H.unique, H.unique_consecutive, H.nonzero, H.argwhere
    nonzero_static, bincount, histc, histogram = H.nonzero_static, HH.bincount, HH.histc, HH.histogram
    nansum, nanmean, aminmax, count_nonzero = Y.nansum, Y.nanmean, Y.aminmax, Y.count_nonzero
    quantile, nanquantile, cov, corrcoef = Y.quantile, Y.nanquantile, Y.cov, Y.corrcoef
    norm, dist, renorm, diff = L.norm, L.dist, L.renorm, U.diff


class Arrangements(Orders):
    """Other shapes and products."""

    tensor_split, hsplit, vsplit, dsplit = B.tensor_split, B.hsplit, B.vsplit, B.dsplit
    split_with_sizes, ravel, unflatten, tile = B.split_with_sizes, B.ravel, B.unflatten, B.tile
    unsafe_split_with_sizes = split_with_sizes
    repeat_interleave, roll, rot90, fliplr, flipud = B.repeat_interleave, B.roll, B.rot90, B.fliplr, B.flipud
    moveaxis, broadcast_to = S.movedim, S.broadcast_to
    diag, diag_embed, diagflat, diagonal_scatter = D.diag, D.diag_embed, D.diagflat, D.diagonal_scatter
    addmv, addr, addbmm, baddbmm, ger = Q.addmv, Q.addr, Q.addbmm, Q.baddbmm, P.outer
    inner, kron = N.inner, N.kron

    take, take_along_dim, put, scatter_reduce, index_reduce = (
        J.take, J.take_along_dim, J.put, J.scatter_reduce, J.index_reduce,
    )  # fmt: skip
    select_scatter, slice_scatter, vdot = J.select_scatter, J.slice_scatter, CX.vdot
    put_, scatter_reduce_, index_reduce_ = in_place(J.put), in_place(J.scatter_reduce), in_place(J.index_reduce)
    unfold, as_strided, as_strided_scatter = Z.unfold, Z.as_strided, Z.as_strided_scatter
    as_strided_ = reshaping(Z.as_strided, "AsStridedBackward1")
    narrow_copy, unsafe_chunk, unsafe_split = Z.narrow_copy, C.chunk, C.split
    sum_to_size, resize_, resize_as_, is_same_size = Z.sum_to_size, Z.resize_, Z.resize_as_, Z.is_same_size
    new_zeros, new_ones, new_empty, new_full = R.new_zeros, R.new_ones, R.new_empty, R.new_full
    new_tensor, new_empty_strided = R.new_tensor, R.new_empty_strided

    def bucketize(self, boundaries: object, *, out_int32: bool = False, right: bool = False) -> object:
        """The number of the bucket between `boundaries` in which each value lies."""
        return H.bucketize(self, boundaries, out_int32=out_int32, right=right)  # type: ignore[arg-type]


__all__ = ["Arrangements"]
