"""Ways to choose which elements of a weight are pruned: importances and a mask go in, a mask comes out.

Each is also the hook that multiplies a weight by its mask before its module is called; pruning.py applies them.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from ..tensor.face.functions import kthvalue, norm, ones_like, rand, rand_like, topk, zeros_like
from ..tensor.face.tensor import Tensor
from .module import Module


class BasePruningMethod(ABC):
    """A way to choose a mask, and the hook that multiplies by it. A subclass has `compute_mask` and a `PRUNING_TYPE`.

    PRUNING_TYPE    what a later pruning sees: "unstructured" (elements that are left), "structured" (slices along
                    `dim` of which something is left), "global" (all)
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor of importances, given the mask that holds already; both have its shape."""

    def apply_mask(self, module: Module) -> Tensor:
        """What is learned times the mask."""
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a tensor of a module in this way, with the arguments of `__init__`; what prunes it from now on."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        weight = getattr(module, name)
        scores = weight if importance_scores is None else importance_scores
        if scores.shape != weight.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got"
                                 f" {scores.shape} vs {weight.shape}")  # fmt: skip
        earlier = hooks_of(module, name)
        if earlier:
            method = _joined(earlier[0], method)
            mask = method.compute_mask(scores, getattr(module, name + "_mask").detach().clone())
            module.register_buffer(name + "_mask", mask)
            detached(module, earlier[0])
        else:
            mask = method.compute_mask(scores, ones_like(weight))
            module.register_parameter(name + "_orig", weight)
            del module._parameters[name]
            module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A tensor times the mask for it."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        return t * self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Leave the product as the weight, and let it be learned under its own name."""
        name, weight = self._tensor_name, self.apply_mask(module)
        delattr(module, name)
        original: Any = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"]
        setattr(module, name, original)


def hooks_of(module: Module, name: str) -> list[BasePruningMethod]:
    """What prunes a tensor of the module."""
    held = module._forward_pre_hooks.values()
    return [hook for hook in held if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]


def detached(module: Module, hook: BasePruningMethod) -> None:
    """Take one of them away."""
    held = module._forward_pre_hooks
    del held[next(number for number, each in held.items() if each is hook)]


def _joined(earlier: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
    made = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
    made.add_pruning_method(method)
    return made


class PruningContainer(BasePruningMethod):
    """Several prunings of one tensor, one after the other: the last chooses among what the others left."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(methods) == 1:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """One more, of the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to"
                             f" PruningContainer {self}. Found '{method._tensor_name}'")  # fmt: skip
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last one, of what the mask left, within the mask."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype).clone()
        left = _left(method, default_mask)
        mask[left] = method.compute_mask(t[left], default_mask[left]).to(dtype=mask.dtype)
        return mask


def _left(method: Any, mask: Tensor) -> Any:
    """What a method is to choose among, as an index."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * mask.dim()
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    if method.dim < -mask.dim():
        raise IndexError(f"Index is out of bounds for tensor with dimensions {mask.dim()}")
    dim = method.dim % mask.dim()
    return _along(mask, dim, mask.sum(dim=[d for d in range(mask.dim()) if d != dim]) != 0)


def _along(t: Tensor, dim: int, index: Any) -> tuple[Any, ...]:
    places: list[Any] = [slice(None)] * t.dim()
    places[dim] = index
    return tuple(places)


class Identity(BasePruningMethod):
    """A mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """As it is."""
        return default_mask


class _Amount(BasePruningMethod):
    """A method that is told how much to prune: a share between 0 and 1, or a number of elements or slices."""

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if float(amount) < 0 or (not whole and float(amount) > 1.0):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount: Any = amount

    def _count(self, size: int) -> int:
        count = int(self.amount) if isinstance(self.amount, numbers.Integral) else round(self.amount * size)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


def _without(mask: Tensor, places: Tensor) -> Tensor:
    made = mask.clone().reshape(-1)
    made[places] = 0
    return made.reshape(mask.shape)


class RandomUnstructured(_Amount):
    """Elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zero where random numbers are largest."""
        count = self._count(t.nelement())
        return _without(default_mask, topk(rand_like(t).reshape(-1), k=count)[1]) if count else default_mask.clone()


class L1Unstructured(_Amount):
    """The elements of the smallest sizes."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zero where importances are smallest."""
        count = self._count(t.nelement())
        if not count:
            return default_mask.clone()
        return _without(default_mask, topk(t.detach().abs().reshape(-1), k=count, largest=False)[1])


class _Slices(_Amount):
    """Whole slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zero in the slices that are not kept."""
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape"
                             f" {t.shape} with {t.dim()} dims")  # fmt: skip
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[_along(t, self.dim, self._kept(t.detach(), count))] = 1
        return mask * default_mask.to(dtype=mask.dtype)

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """Which slices are kept where `count` are not."""
        raise NotImplementedError


class RandomStructured(_Slices):
    """Slices at random."""

    def _kept(self, t: Tensor, count: int) -> Tensor:
        drawn = rand(t.shape[self.dim])
        return drawn > kthvalue(drawn, k=count)[0]


class LnStructured(_Slices):
    """The slices of the smallest norms of order `n`."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        sizes = norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])
        return topk(sizes, k=t.shape[self.dim] - count, largest=True)[1]


class CustomFromMask(BasePruningMethod):
    """A mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """It, within the one that holds."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask and default_mask must have the same shape, got {self.mask.shape} and {default_mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured",
]  # fmt: skip
