"""The functions of the face that write into their first argument: the methods of that name."""

from __future__ import annotations

from .tensor import Tensor

abs_, acos_, acosh_, addmv_ = Tensor.abs_, Tensor.acos_, Tensor.acosh_, Tensor.addmv_
arccos_, arccosh_, arcsin_, arcsinh_ = Tensor.arccos_, Tensor.arccosh_, Tensor.arcsin_, Tensor.arcsinh_
arctan_, arctanh_, asin_, asinh_ = Tensor.arctan_, Tensor.arctanh_, Tensor.asin_, Tensor.asinh_
atan_, atanh_, ceil_, clamp_ = Tensor.atan_, Tensor.atanh_, Tensor.ceil_, Tensor.clamp_
clamp_max_, clamp_min_, clip_, cos_ = Tensor.clamp_max_, Tensor.clamp_min_, Tensor.clip_, Tensor.cos_
cosh_, deg2rad_, erf_, erfc_ = Tensor.cosh_, Tensor.deg2rad_, Tensor.erf_, Tensor.erfc_
exp2_, exp_, expm1_, fill_ = Tensor.exp2_, Tensor.exp_, Tensor.expm1_, Tensor.fill_
fix_, floor_, frac_, gcd_ = Tensor.fix_, Tensor.floor_, Tensor.frac_, Tensor.gcd_
i0_, index_put_, lcm_, ldexp_ = Tensor.i0_, Tensor.index_put_, Tensor.lcm_, Tensor.ldexp_
log10_, log1p_, log2_, log_ = Tensor.log10_, Tensor.log1p_, Tensor.log2_, Tensor.log_
logit_, nan_to_num_, neg_, negative_ = Tensor.logit_, Tensor.nan_to_num_, Tensor.neg_, Tensor.negative_
rad2deg_, reciprocal_, relu_, round_ = Tensor.rad2deg_, Tensor.reciprocal_, Tensor.relu_, Tensor.round_
rsqrt_, sigmoid_, sin_, sinc_ = Tensor.rsqrt_, Tensor.sigmoid_, Tensor.sin_, Tensor.sinc_
sinh_, sqrt_, square_, tan_ = Tensor.sinh_, Tensor.sqrt_, Tensor.square_, Tensor.tan_
tanh_, trunc_, xlogy_, zero_ = Tensor.tanh_, Tensor.trunc_, Tensor.xlogy_, Tensor.zero_
