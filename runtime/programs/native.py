"""PyTorch's inner functions at its top level (`torch.batch_norm`, `torch.embedding`): nn.functional's, called by place.

Reductions and modes are numbers here, as PyTorch's are: a reduction is 0 for "none", 1 for "mean", 2 for "sum".
Where none is given losses are not reduced, whatever the signatures in PyTorch's documentation say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..compiled.byname import name_in
from ..nn import functional as F
from ..nn.functional.dropout import feature_dropout as left_out
from ..tensor.face.linalg_functions import matrix_norm, vector_norm
from ..tensor.face.tensor import Tensor
from ..tensor.ops.elementwise.quantising import (  # noqa: F401 - found by these names
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)

_REDUCTIONS = ("none", "mean", "sum")


def _named(names: Sequence[str], what: str, number: Any) -> str:
    if type(number) is not int or not 0 <= number < len(names):
        said = ", ".join(f"{k} for {name!r}" for k, name in enumerate(names))
        raise ValueError(f"{what} is {number!r}, expected {said}")
    return names[number]


def _reduction(number: Any) -> str:
    return _named(_REDUCTIONS, "reduction", number)


# ---- layers


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """See `nn.functional.batch_norm`; `cudnn_enabled` is for other devices."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """See `nn.functional.instance_norm`; `cudnn_enabled` is for other devices."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """See `nn.functional.layer_norm`; `cudnn_enable` is for other devices."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """See `nn.functional.group_norm`; `cudnn_enabled` is for other devices."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """See `nn.functional.embedding`; no row is padding where `padding_idx` is -1."""
    padding = None if padding_idx == -1 else padding_idx
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    """A convolution over as many dimensions as `weight` has behind its first two, or a transposed one."""
    rank = weight.dim() - 2
    if not 1 <= rank <= 3:
        raise RuntimeError(f"expected 3D, 4D or 5D weight for convolution, but got a weight of size {weight.shape}")
    if transposed:
        turned: Callable[..., Tensor] = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
        return turned(input, weight, bias, stride, padding, output_padding, groups, dilation)
    straight: Callable[..., Tensor] = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    return straight(input, weight, bias, stride, padding, dilation, groups)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """See `nn.functional.pad`."""
    return F.pad(input, list(pad), "constant", value)


_SAMPLING, _BORDERS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """See `nn.functional.grid_sample`; 0 bilinear, 1 nearest, 2 bicubic; outside 0 zeros, 1 border, 2 reflection."""
    mode, border = (_named(_SAMPLING, "interpolation_mode", interpolation_mode),
                    _named(_BORDERS, "padding_mode", padding_mode))  # fmt: skip
    return F.grid_sample(input, grid, mode, border, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """See `nn.functional.affine_grid`."""
    return F.affine_grid(theta, list(size), align_corners)


# ---- noise


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """See `nn.functional.dropout`."""
    return F.dropout(input, p, train)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """See `nn.functional.alpha_dropout`."""
    return F.alpha_dropout(input, p, train)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """See `nn.functional.feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, p, train)


# ---- activations and noise in place, on request


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return F.celu(input, alpha, True)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return F.selu(input, True)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return F.rrelu(input, lower, upper, training, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return F.threshold(input, threshold, value, True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Whole channels left out."""
    return left_out(input, p, train)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` in place."""
    return left_out(input, p, train, True)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` in place."""
    return F.dropout(input, p, train, True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` in place."""
    return F.alpha_dropout(input, p, train, True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
    return F.feature_alpha_dropout(input, p, train, True)


# ---- losses


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """See `nn.functional.binary_cross_entropy_with_logits`."""
    said = _reduction(reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=said, pos_weight=pos_weight)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """See `nn.functional.cosine_embedding_loss`."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """See `nn.functional.hinge_embedding_loss`."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """See `nn.functional.margin_ranking_loss`."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """See `nn.functional.kl_div`; without a warning, as PyTorch's has none here."""
    made = F.kl_div(input, target, reduction="none" if reduction == 1 else _reduction(reduction), log_target=log_target)
    return made.mean() if reduction == 1 else made


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """See `nn.functional.poisson_nll_loss`."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """See `nn.functional.triplet_margin_loss`."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """See `nn.functional.ctc_loss`."""
    said = _reduction(reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, said, zero_infinity)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The largest elements and their places, which `nn.functional.adaptive_max_pool1d_with_indices` gives."""
    return F.adaptive_max_pool1d_with_indices(input, output_size)


# ---- norms


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over one dimension or two."""
    return vector_norm(input, 2, dim, keepdim)


def nuclear_norm(input: Tensor, *given: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values: of a matrix, or over the two dimensions `dim`."""
    for each in given:
        dim, keepdim = (dim, each) if isinstance(each, bool) else (each, keepdim)
    if dim is not None and not isinstance(dim, (tuple, list)):
        raise TypeError(f"nuclear_norm(): argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)


name_in(globals())
