"""The older hooks of backward: functions of the gradients at the node that made a module's result, which it is for one
operation alone.

    model.register_backward_hook(lambda module, grad_input, grad_output: ...)

`grad_input` are the gradients of what that node was given, parameters among them, in its order, as PyTorch has them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..tensor.reverse.hooks import Hook, RemovableHandle
from ..tensor.value.core import Core

SEVERAL = (
    "register_backward_hook: the last operation of the module's forward is given more than the module is, parameters"
    " or results of others, and grad_input is of that one; register_full_backward_hook has the gradients of the"
    " module's inputs"
)

BOTH = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module: use"
    " register_full_backward_hook for both"
)

NO_INPUTS = (
    "Full backward hook is firing for the gradients of the module's results alone: none of its inputs requires"
    " gradients, and grad_input holds None"
)


def register_backward_hook(self: Any, hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when backward has passed the last operation of the module; what it
    returns replaces grad_input. `register_full_backward_hook` is that of the module as a whole."""
    if self._hooks is not None and self._hooks.leaving:
        raise RuntimeError(BOTH)
    return self.register_forward_hook(_Attaching(hook))


class _Attaching:
    """A hook of forward that attaches another to the node which made the result."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    def __call__(self, module: Any, args: Any, result: Any) -> None:
        node = _first(result).grad_fn
        if node is None:
            return
        given = [x.grad_fn for x in args if isinstance(x, Core)]
        if {made for made in given if made is not None} != {before for before, _ in node.next_functions}:
            warnings.warn(SEVERAL, FutureWarning, stacklevel=4)
        node.register_hook(lambda grad_input, grad_output: self.hook(module, grad_input, grad_output))


def refuse_both(hooks: Any) -> None:
    """Raise PyTorch's error where a module has hooks of the older kind."""
    if hooks is not None and any(isinstance(hook, _Attaching) for hook in hooks.after.values()):
        raise RuntimeError(BOTH)


def _first(result: Any) -> Any:
    """The first tensor in a result."""
    while not isinstance(result, Core):
        values = [v for v in result.values() if isinstance(v, Core)] if isinstance(result, Mapping) else result
        result = values[0]
    return result


__all__ = ["refuse_both", "register_backward_hook"]
