"""Optimisers.  A step is recorded like everything else, so it runs in the same kernel as the gradients."""

from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
