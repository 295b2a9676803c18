"""`torch.utils.checkpoint`: parts of a model that run again on the way back instead of keeping what they computed.

    y = checkpoint(block, x, use_reentrant=False)     keeps x and what block closes over
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ...compiler.ir.explained import Explained
from ..nn.containers import Sequential
from ..tensor.ops.random.draws import default_generator
from ..tensor.reverse.autograd import backward
from ..tensor.reverse.custom import Function
from ..tensor.reverse.graph import saved_tensors_hooks
from ..tensor.reverse.modes import enable_grad, mode, no_grad
from ..tensor.value.core import Core, requires

IMPLICIT = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is"
    " recommended; without it, use_reentrant=True is taken."
)
MISMATCH = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation."
)


class CheckpointError(Explained, RuntimeError, page="CheckpointError"):
    """The function did something else when it ran again."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The contexts of the first run and of the runs on the way back, which do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, which backward computes again where it needs what was computed within.

    use_reentrant      True: as a function with a backward of its own, which sees the gradients of tensors among
                       `args` alone; False: what is saved for backward is left out and computed again
    context_fn         makes two contexts, for the first run and for those on the way back
    early_stop         let a later run save more than the first: what comes after that is not looked at
    preserve_rng_state whether a later run draws the random numbers of the first; True if it is not given
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        warnings.warn(IMPLICIT, stacklevel=2)
    if use_reentrant is not False:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    first, again = context_fn()
    frame = Frame(lambda: function(*args, **kwargs), preserve, again, early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


class Frame:
    """What a run saves for backward, by the order in which it does, and how it is made again.

    Each pass of backward runs the function once; nothing is kept for the next.
    """

    def __init__(
        self, run: Callable[[], Any], preserve: bool, context: AbstractContextManager[Any], early_stop: bool
    ) -> None:
        self.run, self.context, self.early_stop = run, context, early_stop
        self.state = default_generator.state if preserve else None
        self.packed = 0
        self.task: Any = None
        self.made: dict[int, Any] = {}

    def pack(self, _: Core) -> int:
        self.packed += 1
        return self.packed - 1

    def unpack(self, number: int) -> Any:
        if number not in self.made or mode.task is not self.task:
            self.made, self.task = self.again(), mode.task
        return self.made.pop(number)

    def again(self) -> dict[int, Any]:
        """The tensors that a further run saves."""
        made: list[Any] = []

        def keep(x: Any) -> Any:
            made.append(x.detach())
            return made[-1]

        hooks = saved_tensors_hooks(keep, lambda x: x)
        with enable_grad(), drawing_from(self.state), hooks, self.context:
            self.run()
        if len(made) < self.packed or (len(made) > self.packed and not self.early_stop):
            raise CheckpointError(f"{MISMATCH} ({self.packed} and {len(made)})")
        return dict(enumerate(made))


@contextmanager
def drawing_from(state: Any) -> Iterator[None]:
    """Within, random numbers are those that follow a state; after it they go on as if it had not been."""
    before = default_generator.state
    default_generator.state = before if state is None else state
    try:
        yield
    finally:
        if state is not None:
            default_generator.state = before


class CheckpointFunction(Function):
    """The function as one node, whose backward runs it again with a graph of its own."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve: bool, *args: Any) -> Any:
        ctx.run, ctx.state = run_function, default_generator.state if preserve else None
        ctx.args = [None if isinstance(a, Core) else a for a in args]
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, Core)]
        ctx.save_for_backward(*(args[k] for k in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        args = list(ctx.args)
        for k, saved in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[k] = saved.detach().requires_grad_(saved.requires_grad)
        with enable_grad(), drawing_from(ctx.state):
            made = ctx.run(*args)
        results = made if isinstance(made, tuple) else (made,)
        pairs = [(r, g) for r, g in zip(results, gradients, strict=True) if isinstance(r, Core) and requires(r)]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([r for r, _ in pairs], [g for _, g in pairs])
        return None, None, *(a.grad if isinstance(a, Core) else None for a in args)  # type: ignore[attr-defined]


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The functions one after the other, in so many segments, each but the last a `checkpoint`."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        warnings.warn(IMPLICIT, stacklevel=2)
    parts = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    size = len(parts) // segments
    for k in range(segments - 1):
        run = _in_order(parts[k * size : (k + 1) * size])
        input = checkpoint(run, input, use_reentrant=use_reentrant is not False, preserve_rng_state=preserve)
    return _in_order(parts[(segments - 1) * size :])(input)


def _in_order(functions: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for function in functions:
            input = function(input)
        return input

    return run


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The devices of tensors that are not on the CPU, and the states of their generators: there are none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Put states of generators back, of which `get_device_states` has found none; it has no effect."""


__all__ = [
    "CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "get_device_states",
    "noop_context_fn", "set_device_states",
]  # fmt: skip
