"""weight_norm and spectral_norm as they were before there were parametrizations: a hook computes the weight anew.

`weight` becomes a plain attribute, set before each call of the module; `weight_g` and `weight_v`, or `weight_orig`,
are learned, and so the names in state dictionaries stay those of older files.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from ..tensor.face.tensor import Tensor
from ..tensor.ops.random.distributions import normal_
from ..tensor.reverse.modes import no_grad
from . import functional as F
from .module import Module
from .parameter import Parameter
from .reparametrized import lengths

M = TypeVar("M", bound=Module)


class WeightNorm:
    """The hook of `weight_norm`."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Module) -> Tensor:
        """Length times direction."""
        v = getattr(module, self.name + "_v")
        return v * (getattr(module, self.name + "_g") / lengths(v, self.dim))

    def remove(self, module: Module) -> None:
        """Leave the weight as it is now."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Learn lengths and directions of a weight apart, as `weight_g` and `weight_v` (Salimans and Kingma, 2016)."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning, stacklevel=2,
    )  # fmt: skip
    _refuse_two(module, name, WeightNorm, "weight_norm")
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(lengths(weight, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo `weight_norm`."""
    return _removed(module, name, WeightNorm, "weight_norm")


class SpectralNorm:
    """The hook of `spectral_norm`."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with the dimension in front and all others in one."""
        rest = [a for a in range(weight.dim()) if a != self.dim]
        return weight.permute(self.dim, *rest).reshape(weight.shape[self.dim], -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight by its largest singular value; with a power iteration, which changes the buffers."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        return weight / u.dot(matrix @ v)

    def remove(self, module: Module) -> None:
        """Leave the weight as it is now."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight by its largest singular value, found by power iterations (Miyato et al., 2018)."""
    _refuse_two(module, name, SpectralNorm, "spectral_norm")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    matrix = hook.reshape_weight_to_matrix(weight.detach())
    starts = [F.normalize(normal_(matrix.new_empty(n), 0, 1), dim=0, eps=eps) for n in matrix.shape]
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.detach())
    for end, start in zip(("_u", "_v"), starts, strict=True):
        module.register_buffer(name + end, start)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`."""
    return _removed(module, name, SpectralNorm, "spectral_norm")


def _refuse_two(module: Module, name: str, kind: type, called: str) -> None:
    if any(isinstance(hook, kind) and hook.name == name for hook in module._hooked().before.values()):
        raise RuntimeError(f"Cannot register two {called} hooks on the same parameter {name}")


def _removed(module: Any, name: str, kind: type, called: str) -> Any:
    before = module._hooked().before
    for k, hook in before.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del before[k]
            return module
    raise ValueError(f"{called} of '{name}' not found in {module}")


__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
