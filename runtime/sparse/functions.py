"""Sparse Tensors under the names that `torch.sparse` has for their functions."""

from __future__ import annotations

from ..compiled.byname import name_in
from .operations import _soft, addmm
from .operations import sparse_mm as mm
from .operations import sum_ as sum

softmax, log_softmax = _soft(False), _soft(True)
softmax.__name__, log_softmax.__name__ = "softmax", "log_softmax"

name_in(globals())

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]
