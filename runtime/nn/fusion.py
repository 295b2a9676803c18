"""Batch norms folded into the layer before them, for evaluation; and modules whose parameters nobody draws."""

from __future__ import annotations

import inspect
import warnings
from copy import deepcopy
from typing import Any

from ..tensor.face import functions as T
from .clip import clip_grad_norm_
from .module import Module
from .parameter import Parameter


def _folded(weight: Any, bias: Any, bn: tuple[Any, ...], channels: int) -> tuple[Parameter, Parameter]:
    """A weight whose dimension `channels` is that of a batch norm's numbers, and a bias, with the norm in them."""
    mean, var, eps, factor, shift = bn
    bias = T.zeros_like(mean) if bias is None else bias
    factor = T.ones_like(mean) if factor is None else factor
    shift = T.zeros_like(mean) if shift is None else shift
    factor = factor * T.rsqrt(var + eps)
    shape = [1] * weight.dim()
    shape[channels] = -1
    made = (weight * factor.reshape(shape)).to(weight.dtype), ((bias - mean) * factor + shift).to(bias.dtype)
    return Parameter(made[0].detach(), weight.requires_grad), Parameter(made[1].detach(), bias.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution that computes what the batch norm behind it did."""
    return _folded(conv_w, conv_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer that computes what the batch norm behind it did."""
    return _folded(linear_w, linear_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), 0)


def _fused(layer: Any, bn: Any, *transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    made = deepcopy(layer)
    moments = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    made.weight, made.bias = _folded(made.weight, made.bias, moments, 1 if any(transpose) else 0)
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that computes what this one and the batch norm behind it do in evaluation."""
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that computes what this one and the batch norm behind it do in evaluation."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused(linear, bn)


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module on whose first parameters nobody should count, as nobody drew them; random numbers go on as before."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = T.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        T.set_rng_state(state)


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """The older name of clip_grad_norm_."""
    text = "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


__all__ = [
    "clip_grad_norm", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "skip_init",
]  # fmt: skip
