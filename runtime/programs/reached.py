"""What programs reach for in PyTorch's files beside what is public: small functions, each under the path it has there.

    from torch.optim.optimizer import _use_grad_for_differentiable
    from torch._utils import _flatten_dense_tensors
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from itertools import accumulate
from math import inf
from typing import Any, NoReturn

from ..tensor.face import functions as T
from ..tensor.face.complex_functions import view_as_real
from ..tensor.face.tensor import Tensor
from ..tensor.reverse.modes import mode, set_grad_enabled

StateDict = dict[str, Any]

PARAMS_DOC = "params: the parameters, or groups of them"
FOREACH_DOC = "foreach: has no effect"
MAXIMIZE_DOC = "maximize: go up, not down"
CAPTURABLE_DOC = "capturable: has no effect"
DIFFERENTIABLE_DOC = "differentiable: keep the history of a step"
FUSED_DOC = "fused: has no effect"
"""What optimisers say of their options in their docstrings."""


# ---- modules

EXTRA_STATE = "_extra_state"
"""How the key of what `get_extra_state` gives ends."""


def indented(s_: str, numSpaces: int) -> str:
    """A text whose lines behind the first are moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """What each of so many places must not see: -inf above the diagonal, else 0."""
    return T.triu(T.full((sz, sz), -inf, dtype=dtype, device=device), 1)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The rows of an axis in another order."""
    return tensor.index_select(dim, permutation)


# ---- optimisers


def differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` that keeps no history, unless the optimiser's option `differentiable` is set."""

    @wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def number(x: Any) -> Any:
    """The number that a tensor holds; a number is one."""
    return x.item() if isinstance(x, Tensor) else x


def same(x: Any) -> Any:
    """What is given: no program is traced here."""
    return x


def faster_kinds(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether steps are to be fused, and of lists: they are neither on the processor, if nobody asks."""
    return False, False


def as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Put pairs of real numbers in the place of complex tensors, in all lists."""
    for n, p in enumerate(params):
        if p.is_complex():
            params[n] = view_as_real(p)
            for held in state_and_grads:
                held[n] = view_as_real(held[n])


# ---- lists of tensors


def flattened(tensors: Iterable[Tensor]) -> Tensor:
    """All elements in one row."""
    parts = [t.reshape(-1) for t in tensors]
    if not parts:
        raise RuntimeError("_flatten_dense_tensors: expected at least one tensor, got none")
    return parts[0].clone() if len(parts) == 1 else T.cat(parts)


def unflattened(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The parts of a row, as large as those tensors, in their shapes."""
    found, begin = list[Tensor](), 0
    for t in tensors:
        found.append(flat.narrow(0, begin, t.numel()).view(t.shape))
        begin += t.numel()
    return tuple(found)


def accumulated(iterable: Iterable[Any], fn: Callable[[Any, Any], Any] = lambda x, y: x + y) -> Iterator[Any]:
    """Running totals."""
    return accumulate(iterable, fn)


def taken(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in lists of one type, each of which ends where it would have more bytes than the limit."""
    open_: dict[str, tuple[list[Tensor], int]] = {}
    for t in tensors:
        held, bytes_ = open_.get(t.type(), ([], 0))
        more = t.numel() * t.element_size()
        if held and bytes_ + more > size_limit:
            yield held
            held, bytes_ = [], 0
        held.append(t)
        open_[t.type()] = held, bytes_ + more
    for held, _ in open_.values():
        if held:
            yield held


# ---- the compiled part


def set_grad(enabled: bool) -> None:
    """Keep gradients from now on, or not."""
    mode.enabled = bool(enabled)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError where a condition does not hold."""
    if not condition:
        raise AssertionError(message)


class NoGraph:
    """What annotations name of graphs of TorchScript's: none is made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("torch._C: there is no TorchScript and none of its graphs; functions run as they are")


__all__ = [
    "NoGraph", "StateDict", "accumulated", "apply_permutation", "as_real", "differentiable", "faster_kinds",
    "flattened", "indented", "number", "same", "set_grad", "subsequent_mask", "taken", "unflattened",
]  # fmt: skip
