"""Methods of tensors that belong to `special`, `linalg` and `fft`."""

from __future__ import annotations

from typing import Any

from ..ops.arranging.creation import as_tensor
from ..ops.elementwise import complexes as C
from ..ops.elementwise import special as F
from ..ops.random import choices as N
from ..ops.random import distributions as D
from ..value.dtypes import complex64, complex128
from . import older_names as L
from .inplace import in_place


def _set(input: Any, re: Any, im: Any) -> None:
    input.copy_(C.complex_(*(p.expand(input.shape).to(input.dtype.to_real()) for p in (re, im))))


def _set_real(input: Any, value: Any) -> None:
    """Write real parts."""
    if input.is_complex():
        _set(input, as_tensor(value), C.imag(input))
    else:
        input.copy_(value)


def _set_imag(input: Any, value: Any) -> None:
    """Write imaginary parts."""
    _set(input, C.real(input), as_tensor(value))


class Further:
    """Special functions, draws and linear algebra."""

    bernoulli, multinomial = D.bernoulli, N.multinomial
    bernoulli_, uniform_, normal_, log_normal_ = D.bernoulli_, D.uniform_, D.normal_, D.log_normal_
    exponential_, cauchy_, geometric_, random_ = D.exponential_, D.cauchy_, D.geometric_, D.random_

    conj, resolve_conj, angle, adjoint = C.conj, C.resolve_conj, C.angle, C.adjoint
    resolve_neg, conj_physical, conj_physical_ = C.resolve_conj, C.conj_physical, in_place(C.conj_physical)
    real, imag = property(C.real, _set_real), property(C.imag, _set_imag)
    H, mH = property(C.hermitian), property(C.adjoint)
    geqrf, ormqr, lu = L.geqrf, L.ormqr, L.lu
    inverse, pinverse, det, logdet, slogdet = L.inverse, L.pinverse, L.det, L.logdet, L.slogdet
    cholesky, cholesky_solve, cholesky_inverse = L.cholesky, L.cholesky_solve, L.cholesky_inverse
    qr, svd, lu_solve, triangular_solve, orgqr = L.qr, L.svd, L.lu_solve, L.triangular_solve, L.orgqr
    stft, istft = L.stft, L.istft
    matrix_power, matrix_exp, cross, trace = L.matrix_power, L.matrix_exp, L.cross, L.trace
    digamma, lgamma, polygamma, mvlgamma = F.digamma, F.lgamma, F.polygamma, F.mvlgamma
    erfc, erfinv, i0, sinc, logit = F.erfc, F.erfinv, F.i0, F.sinc, F.logit
    xlogy, igamma, igammac = F.xlogy, F.igamma, F.igammac
    digamma_, lgamma_, polygamma_ = in_place(F.digamma), in_place(F.lgamma), in_place(F.polygamma)
    mvlgamma_, erfc_, erfinv_ = in_place(F.mvlgamma), in_place(F.erfc), in_place(F.erfinv)
    i0_, sinc_, logit_, xlogy_ = in_place(F.i0), in_place(F.sinc), in_place(F.logit), in_place(F.xlogy)
    igamma_, igammac_ = in_place(F.igamma), in_place(F.igammac)


    def cfloat(self) -> Any:
        return self.to(complex64)  # type: ignore[attr-defined]

    def cdouble(self) -> Any:
        return self.to(complex128)  # type: ignore[attr-defined]


__all__ = ["Further"]
