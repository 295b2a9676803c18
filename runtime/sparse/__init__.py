"""Sparse Tensors: entries and their places as two Tensors, and the operations that such a pair has.

Knows Tensors and their functions; nothing below knows it, but for two questions: whether a Tensor is one apart, and
what answers for it in calls (`tensor/calls/apart.py`).

    A = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    A @ torch.ones(3, 1)                     # gathers rows, and adds products up by row
"""

from . import operations, places  # noqa: F401 - what answers in calls, whichever part is loaded first
