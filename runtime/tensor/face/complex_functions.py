"""Functions of complex tensors under the names that PyTorch gives them, some taking `out`."""

from __future__ import annotations

from ...compiled.byname import name_in
from ..ops.elementwise import complexes as C
from ..value.dtypes import complex64, complex128
from .results import written

polar, angle, conj_physical = written(C.polar, C.angle, C.conj_physical)
complex, real, imag, conj = C.complex_, C.real, C.imag, C.conj
resolve_conj = resolve_neg = C.resolve_conj
view_as_real, view_as_complex, adjoint = C.view_as_real, C.view_as_complex, C.adjoint
cfloat, cdouble = complex64, complex128

name_in(globals())

__all__ = ["complex64", "complex128"]
