"""The methods of a Tensor that are functions of other modules under another name, and Python's operators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, Self

import numpy as np

from ..ops.arranging import gathering as I
from ..ops.arranging import indexing as G
from ..ops.arranging import pieces as C
from ..ops.arranging import placing as J
from ..ops.arranging import scattering as K
from ..ops.arranging import shapes as S
from ..ops.arranging.creation import tensor
from ..ops.elementwise import arithmetic as A
from ..ops.elementwise import blends as BL
from ..ops.elementwise import elementary as E
from ..ops.elementwise import pointwise as V
from ..ops.elementwise import powers as PW
from ..ops.elementwise import softmax as M
from ..ops.elementwise.complexes import real
from ..ops.folds import extremes as X
from ..ops.folds import reductions as R
from ..ops.matrices import affine as Q
from ..ops.matrices import products as P
from ..value.core import Core, number_of
from ..value.devices import META, made, placed
from ..value.dtypes import ALL, COMPLEX, dtype_of, float32, float64, int32, int64
from ..value.dtypes import device as Device
from ..value.formats import ordered
from . import inplace as W
from .further import Further
from .inplace import in_place
from .surface import Arrangements


def operator(function: Callable[..., Any], ufunc: np.ufunc | None = None) -> Callable[[Any, Any], Any]:
    """`function` for an infix operator: Python tries the other side if this one cannot.

    ufunc   what NumPy calls it, which decides on dtypes where the other side is one of its arrays
    """

    @wraps(function)
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return function(self, tensor(other)) if ufunc is None else _with_array(function, ufunc, self, other)
        if isinstance(other, Core) or number_of(other) is not None:
            return function(self, other)
        return NotImplemented

    return method


def _with_array(function: Callable[..., Any], ufunc: np.ufunc, self: Any, other: np.ndarray) -> Any:
    """The function in the dtypes of NumPy, to which PyTorch leaves it; NumPy's truths become uint8 there."""
    first, second, result = ufunc.resolve_dtypes((ALL[self._kind_of().dtype].numpy, other.dtype, None))
    made = function(self.to(dtype_of(first)), tensor(other).to(dtype_of(second)))
    return made.to(dtype_of(result) if result != np.bool_ else ALL["u8"])


def product(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """`function` for an infix operator between tensors only."""

    @wraps(function)
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            other = tensor(other)
        return function(self, other) if isinstance(other, Core) else NotImplemented

    return method


class Infix(Core):
    """Python's operators."""

    __add__ = __radd__ = operator(A.add, np.add)
    __sub__, __rsub__ = operator(A.sub, np.subtract), operator(A.rsub, np.subtract)
    __mul__ = __rmul__ = operator(A.mul, np.multiply)
    __truediv__, __rtruediv__ = operator(A.div, np.true_divide), operator(A.rdiv, np.true_divide)
    __floordiv__ = operator(A.floor_divide, np.floor_divide)
    __rfloordiv__ = operator(lambda x, y: A.floor_divide(y, x), np.floor_divide)
    __mod__, __rmod__ = operator(A.remainder, np.remainder), operator(lambda x, y: A.remainder(y, x), np.remainder)
    __pow__, __rpow__ = operator(PW.pow_, np.power), operator(PW.rpow, np.power)
    __matmul__, __rmatmul__ = product(P.matmul), product(lambda x, y: P.matmul(y, x))
    __neg__, __abs__, __invert__ = E.neg, E.abs_, E.bitwise_not
    __eq__, __ne__ = operator(A.eq), operator(A.ne)  # type: ignore[assignment]
    __lt__, __le__ = operator(A.lt), operator(A.le)
    __gt__, __ge__ = operator(A.gt), operator(A.ge)
    __and__ = __rand__ = operator(A.bitwise_and, np.bitwise_and)
    __or__ = __ror__ = operator(A.bitwise_or, np.bitwise_or)
    __xor__ = __rxor__ = operator(A.bitwise_xor, np.bitwise_xor)
    __iadd__, __isub__ = operator(in_place(A.add)), operator(in_place(A.sub))
    __imul__, __itruediv__ = operator(in_place(A.mul)), operator(in_place(A.div))
    __ipow__ = operator(in_place(PW.pow_))
    __ifloordiv__, __imod__ = operator(in_place(A.floor_divide)), operator(in_place(A.remainder))
    __iand__, __ior__ = operator(in_place(A.bitwise_and)), operator(in_place(A.bitwise_or))
    __ixor__ = operator(in_place(A.bitwise_xor))
    __hash__ = Core.__hash__
    __getitem__, __setitem__ = G.getitem, G.setitem

    def __pos__(self) -> Any:
        return self


class Elements(Infix):
    """Element by element."""

    add, sub, mul, div, pow = A.add, A.sub, A.mul, A.div, PW.pow_
    subtract, multiply, divide, true_divide = A.sub, A.mul, A.div, A.div
    floor_divide, remainder, lerp = A.floor_divide, A.remainder, BL.lerp
    addcmul, addcdiv = BL.addcmul, BL.addcdiv
    eq, ne, lt, le, gt, ge = A.eq, A.ne, A.lt, A.le, A.gt, A.ge
    logical_and, logical_or, logical_xor = V.logical_and, V.logical_or, V.logical_xor
    logical_not, bitwise_not = E.logical_not, E.bitwise_not
    bitwise_and, bitwise_or, bitwise_xor = A.bitwise_and, A.bitwise_or, A.bitwise_xor
    maximum, minimum, hypot = V.maximum, V.minimum, V.hypot
    clamp = clip = A.clamp
    exp, exp2, expm1, log, log2, log10, log1p = (
        E.exp, E.exp2, E.expm1, E.log, E.log2, E.log10, E.log1p,
    )  # fmt: skip
    sqrt, rsqrt, reciprocal, square = E.sqrt, E.rsqrt, E.reciprocal, E.square
    sin, cos, tan, sinh, cosh, tanh = E.sin, E.cos, E.tan, E.sinh, E.cosh, E.tanh
    asin, acos, atan, atan2 = E.asin, E.acos, E.atan, V.atan2
    arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
    sigmoid, relu, erf, sign, abs, neg = E.sigmoid, E.relu, E.erf, E.sign, E.abs_, E.neg
    absolute, negative = E.abs_, E.neg
    floor, ceil, round, trunc = E.floor, E.ceil, E.round_, E.trunc
    isnan, isinf, isfinite, clone = E.isnan, E.isinf, E.isfinite, E.clone

    def where(self, condition: Any, other: Any) -> Any:
        """This tensor where the condition holds, else `other`."""
        return A.where(condition, self, other)

    def masked_fill(self, mask: Any, value: Any) -> Any:
        """`value` where the mask holds, else this tensor."""
        return A.masked_fill(self, mask, value)  # type: ignore[arg-type]


class InPlace(Elements):
    """The functions that write into the tensor."""

    add_, sub_, mul_, div_ = in_place(A.add), in_place(A.sub), in_place(A.mul), in_place(A.div)
    subtract_, multiply_, divide_, true_divide_ = sub_, mul_, div_, div_
    pow_, remainder_, floor_divide_ = in_place(PW.pow_), in_place(A.remainder), in_place(A.floor_divide)
    lerp_, addcmul_, addcdiv_ = in_place(BL.lerp), in_place(BL.addcmul), in_place(BL.addcdiv)
    clamp_ = clip_ = in_place(A.clamp)
    atan2_ = arctan2_ = in_place(V.atan2)
    hypot_ = in_place(V.hypot)
    eq_, ne_, lt_ = in_place(A.eq), in_place(A.ne), in_place(A.lt)
    le_, gt_, ge_ = in_place(A.le), in_place(A.gt), in_place(A.ge)
    logical_and_, logical_or_ = in_place(V.logical_and), in_place(V.logical_or)
    logical_xor_, logical_not_ = in_place(V.logical_xor), in_place(E.logical_not)
    bitwise_and_, bitwise_or_ = in_place(A.bitwise_and), in_place(A.bitwise_or)
    bitwise_xor_, bitwise_not_ = in_place(A.bitwise_xor), in_place(E.bitwise_not)
    exp_, exp2_, expm1_ = in_place(E.exp), in_place(E.exp2), in_place(E.expm1)
    log_, log2_, log10_, log1p_ = in_place(E.log), in_place(E.log2), in_place(E.log10), in_place(E.log1p)
    sqrt_, rsqrt_, square_, reciprocal_ = (
        in_place(E.sqrt), in_place(E.rsqrt), in_place(E.square), in_place(E.reciprocal),
    )  # fmt: skip
    sin_, cos_, tan_ = in_place(E.sin), in_place(E.cos), in_place(E.tan)
    sinh_, cosh_, tanh_ = in_place(E.sinh), in_place(E.cosh), in_place(E.tanh)
    asin_, acos_, atan_ = in_place(E.asin), in_place(E.acos), in_place(E.atan)
    arcsin_, arccos_, arctan_ = asin_, acos_, atan_
    sigmoid_, relu_, erf_, sign_ = in_place(E.sigmoid), in_place(E.relu), in_place(E.erf), in_place(E.sign)
    abs_ = absolute_ = W.abs_
    neg_ = negative_ = in_place(E.neg)
    floor_, ceil_, round_, trunc_ = in_place(E.floor), in_place(E.ceil), in_place(E.round_), in_place(E.trunc)
    cumsum_ = in_place(R.cumsum)
    masked_fill_ = in_place(Elements.masked_fill)
    zero_, fill_, copy_ = W.zero_, W.fill_, W.copy_
    index_put_, fill_diagonal_ = G.index_put_, W.fill_diagonal_
    index_add_, index_copy_, index_fill_ = in_place(K.index_add), in_place(K.index_copy), in_place(K.index_fill)
    scatter_, scatter_add_ = in_place(J.scatter), in_place(K.scatter_add)
    masked_scatter_, tril_, triu_ = in_place(K.masked_scatter), in_place(K.tril), in_place(K.triu)
    addmm_ = in_place(Q.addmm)


class Folds(InPlace):
    """Sums, extremes and products."""

    sum, mean, prod, var, std, norm = R.sum_, R.mean, R.prod, R.var, R.std, R.norm
    cumsum, isclose, allclose, equal = R.cumsum, X.isclose, X.allclose, X.equal
    max, min, amax, amin = X.max_over, X.min_over, X.amax, X.amin
    argmax, argmin, any, all = X.argmax, X.argmin, X.any_, X.all_
    softmax, log_softmax, logsumexp = M.softmax, M.log_softmax, M.logsumexp
    matmul, mm, mv, dot, bmm = P.matmul, P.mm, P.mv, P.dot, P.bmm
    outer = P.outer


class Layout(Folds):
    """Views and copies in another shape."""

    t_, unsqueeze_ = W.reshaping(S.t, "TBackward1"), W.reshaping(S.unsqueeze, "UnsqueezeBackward1")
    transpose_ = swapaxes_ = swapdims_ = W.reshaping(S.transpose, "TransposeBackward1")
    squeeze_ = W.reshaping(S.squeeze, "SqueezeBackward4", "SqueezeBackward3")

    view, reshape, flatten, permute = S.view_as_shape, S.reshape, S.flatten, S.permute
    transpose, t, movedim = S.transpose, S.t, S.movedim
    swapaxes = swapdims = S.transpose
    squeeze, unsqueeze, expand, narrow = S.squeeze, S.unsqueeze, S.expand, S.narrow
    split, chunk, unbind, repeat, flip = C.split, C.chunk, C.unbind, C.repeat, C.flip
    select, index_select, gather = G.select, I.index_select, I.gather
    masked_select, diagonal, index_put = I.masked_select, S.diagonal, G.index_put
    index_add, index_copy, index_fill = K.index_add, K.index_copy, K.index_fill
    scatter, scatter_add, masked_scatter = J.scatter, K.scatter_add, K.masked_scatter
    tril, triu, addmm = K.tril, K.triu, Q.addmm

    @property
    def T(self) -> Self:
        return S.reversed_axes(self)  # type: ignore[arg-type]

    @property
    def mT(self) -> Self:
        return S.matrix_transposed(self)  # type: ignore[arg-type]

    def view_as(self, other: Any) -> Self:
        return S.view_as_shape(self, S.shape_of(other))  # type: ignore[arg-type]

    def reshape_as(self, other: Any) -> Self:
        return S.reshape(self, S.shape_of(other))  # type: ignore[arg-type]

    def expand_as(self, other: Any) -> Self:
        return S.expand(self, S.shape_of(other))  # type: ignore[arg-type]


def shape_alone(self: Any, *args: Any, device: Any = None, dtype: Any = None, **options: Any) -> Any:
    """What `to` gives where it is asked for the device "meta"; else NotImplemented."""
    where = next((a for a in args if isinstance(a, (str, Device))), device)
    if where is None or placed(where) is not META:
        return NotImplemented
    kinds = [a for a in (*args, dtype) if a is not None and not isinstance(a, (str, Device, Core, int))]
    kind = dtype_of(kinds[0]).numpy if kinds else ALL[self._kind_of().dtype].numpy
    return made.shapes(self._kind_of().shape, kind, False)


class Operators(Further, Arrangements, Layout):
    """Other dtypes.  These methods hide the names of Python's classes, so nothing else stands here."""

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: Any = False, copy: Any = False,
        memory_format: Any = None,
    ) -> Self:  # fmt: skip
        """Another dtype, given as such or as another tensor's."""
        if memory_format is not None:
            return ordered(self.to(*args, dtype=dtype, device=device, copy=copy), memory_format)
        flags = 0  # non_blocking, copy
        for a in args:
            if isinstance(a, Core):
                dtype = ALL[a._kind_of().dtype]
            elif isinstance(a, (str, Device)):
                placed(a)
            elif a is True or a is False:
                flags, copy = flags + 1, a if flags else copy
            else:
                dtype = a
        if device is not None:
            placed(device)
        have = self._kind_of().dtype
        code = dtype_of(dtype).code if dtype is not None else have
        if code == have:
            return E.clone(self) if copy else self  # type: ignore[arg-type,return-value]
        if self._kind_of().is_complex and code not in COMPLEX and code != "bool":
            warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=2)
            return real(self).to(dtype)  # type: ignore[arg-type]
        return E.cast_to(self, code)

    to.at_once = shape_alone  # type: ignore[attr-defined]

    def float(self) -> Self:
        return self.to(float32)

    def double(self) -> Self:
        return self.to(float64)

    def int(self) -> Self:
        return self.to(int32)

    def long(self) -> Self:
        return self.to(int64)

    def bool(self) -> Self:
        return self.to(ALL["bool"])

    def type_as(self, other: Any) -> Self:
        return self.to(other)

    def cuda(self, device: Any = None, non_blocking: Any = False, memory_format: Any = None) -> NoReturn:
        raise AssertionError("Torch not compiled with CUDA enabled")

    def cpu(self, memory_format: Any = None) -> Self:
        return self  # type: ignore[return-value]

