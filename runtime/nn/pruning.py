"""Pruned weights: a mask of ones and zeros for each, by size or at random, kept beside what is learned.

    prune.l1_unstructured(layer, "weight", amount=0.3)

`weight` is learned as `weight_orig` from then on, `weight_mask` is a buffer, and before each call of the layer `weight`
becomes their product. Pruning again adds to the mask; `prune.remove` leaves the product as the weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..tensor.face.functions import ones_like
from ..tensor.face.tensor import Tensor
from .module import Module
from .pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    detached,
    hooks_of,
)
from .vectors import parameters_to_vector

M = TypeVar("M", bound=Module)


def identity(module: M, name: str) -> M:
    """Keep a tensor as a product with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: Any) -> M:
    """Prune elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: Any, importance_scores: Any = None) -> M:
    """Prune the elements of the smallest sizes, or of the smallest importances."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: Any, dim: int) -> M:
    """Prune slices along a dimension at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> M:
    """Prune the slices along a dimension whose norms of order `n` are smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune by a mask that is given."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune pairs of a module and a name as if they were one tensor; importances are a dict by such pairs."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if not isinstance(importance_scores, Mapping | None):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: Sequence[tuple[Module, str]] = list(parameters)
    weights = [getattr(module, name) for module, name in pairs]
    scores = [(importance_scores or {}).get(pair, w) for pair, w in zip(pairs, weights, strict=True)]
    masks = [getattr(m, name + "_mask", ones_like(w)) for (m, name), w in zip(pairs, weights, strict=True)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method'
                        f" {pruning_method} of type {method.PRUNING_TYPE}")  # fmt: skip
    method._tensor_name = "temp"
    mask = PruningContainer(method).compute_mask(parameters_to_vector(scores), parameters_to_vector(masks))
    for (module, name), w, part in zip(pairs, weights, mask.split([w.numel() for w in weights]), strict=True):
        custom_from_mask(module, name, part.view_as(w))


def remove(module: M, name: str) -> M:
    """Leave what is pruned as the weight, without the mask."""
    for hook in hooks_of(module, name):
        hook.remove(module)
        detached(module, hook)
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a tensor of the module, or of one in it, is pruned."""
    held = (hook for each in module.modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in held)


__all__ = [
    "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip
