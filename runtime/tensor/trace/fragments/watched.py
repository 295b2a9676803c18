"""What PyTorch's nodes save and pullbacks here do not read as it is: an operation's name goes in, places come out.

PyTorch's derivative of tanh is computed from its result, this one from the argument, where it has all its digits. So
the result is kept beside it: a write to it that is counted is PyTorch's error, and one unseen, through `t.data` or by
NumPy, an error as well, since what PyTorch computes then mixes values of before with those of after. So is one to
what others read, where PyTorch has the argument anew and means, norms or factors of before.

What the nodes save is that of PyTorch 2.13's `derivatives.yaml`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

INPUT, RESULT = 0, 1

_RESULT = ((RESULT, 0),)
_FIRST = ((INPUT, 0),)
_SECOND = ((INPUT, 0), (INPUT, 1))
_BOTH = (*_FIRST, *_RESULT)

_LAYERS = (
    "attention", "gru", "gru_cell", "instance_norm", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell", "scaled_dot_product_attention", "triplet_margin_loss", "gaussian_nll_loss",
)  # fmt: skip
"""Operations that are many of PyTorch's nodes, which save what is computed on the way."""

WATCHED: dict[str, tuple[tuple[int, int], ...]] = {
    **dict.fromkeys(("expm1", "reciprocal", "rsqrt", "sigmoid", "tanh"), _RESULT),
    "linalg_eigh": _RESULT,
    **dict.fromkeys(("amax", "amin", "cumprod", "linalg_det", "logcumsumexp", "norm", "prod", "std"), _BOTH),
    **dict.fromkeys(("aminmax", "linalg_slogdet", "std_mean"), (*_BOTH, (RESULT, 1))),
    **dict.fromkeys(("cdist", "dist", "hypot"), (*_SECOND, *_RESULT)),
    **dict.fromkeys(("index_prod", "index_reduce", "scatter_prod", "scatter_reduce"), (*_SECOND, *_RESULT)),
    **dict.fromkeys(("batch_norm", "group_norm", "layer_norm", "rms_norm", "logsigmoid"), _FIRST),
    **dict.fromkeys(("linalg_svdvals", "normalize", "softsign"), _BOTH),
    "linalg_solve": _FIRST,
    **dict.fromkeys(("cosine_embedding_loss", "cosine_similarity", "pairwise_distance"), _SECOND),
    **dict.fromkeys(("l1_loss", "multilabel_soft_margin_loss", "poisson_nll_loss"), _SECOND),
    "erfinv": _FIRST,
    "div": _SECOND,
    **dict.fromkeys(_LAYERS, tuple([(INPUT, k) for k in range(12)])),
}
"""What must not be written over unseen; results among it are saved though no pullback reads them."""

THROUGH_VIEWS = frozenset({"einsum", "kron", "scaled_dot_product_attention", "tensordot"})
"""Operations that read their arguments as they are, where PyTorch's save views of them: those stay where the memory
was when a tensor is given another one, by `p.data = other`."""


def watched_in(operation: Any, reads: Collection[tuple[int, int]]) -> Collection[tuple[int, int]]:
    """What a pullback that reads such places must watch; arguments that it reads no more than for their results, where
    it reads those in their place."""
    watched = WATCHED.get(operation.name, ()) if operation.node else ()
    instead = any(read in reads and read[0] == RESULT for read in operation.loose)
    return [place for place in watched if place[0] == RESULT or place in reads or instead]


__all__ = ["THROUGH_VIEWS", "WATCHED", "watched_in"]
