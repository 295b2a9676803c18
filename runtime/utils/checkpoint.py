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
from ..tensor.reverse.modes import enable_grad, mode, no_grad
from ..tensor.trace.states import Call, Step, events
from ..tensor.trace.tape import tapes
from ..tensor.value.core import Core, requires
from ..tensor.value.memory import has_history

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
                       `args` alone; False: it runs again in each backward that comes to its results, which is what
                       can be seen of a checkpoint: what is kept and what is computed again the compiler decides
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
    return frame.begin(first, (*args, *kwargs.values()))


class Frame:
    """A run of the function, and how it runs again: once in each backward that comes to one of its results.

    What it saves for backward is what any run saves: a step is compiled as a whole, and a kernel keeps what is needed
    and computes the rest again, whoever asked for that. So what a further run computes is used for nothing, and is not
    computed; its effects are there, and whether it does what the first run did is asked.
    """

    def __init__(
        self, run: Callable[[], Any], preserve: bool, context: AbstractContextManager[Any], early_stop: bool
    ) -> None:
        self.run, self.context, self.early_stop = run, context, early_stop
        self.state = default_generator.state if preserve else None
        self.task: Any = None
        self.first = Stretch()

    def begin(self, first: AbstractContextManager[Any], args: Any) -> Any:
        """The results of the first run, whose gradients call for the next one."""
        with own_packers_only(), first:
            made = self.run()
        self.first.end()
        known = {id(a) for a in args}
        for t in _tensors(made):
            if id(t) not in known and has_history(t):
                t.register_hook(self.again)  # type: ignore[attr-defined]
        return made

    def again(self, _: Any) -> None:
        """Run the function again, if this backward has not done so."""
        if mode.task is self.task:
            return
        self.task, further = mode.task, Stretch()
        with enable_grad(), drawing_from(self.state), own_packers_only(), self.context:
            self.run()
        further.end()
        if self.first.count == further.count or None in (self.first.ended, further.ended):
            return
        before, now = self.first.saves(), further.saves()
        if now < before or (now > before and not self.early_stop):
            raise CheckpointError(f"{MISMATCH} ({before} and {now})")


def _tensors(made: Any) -> Iterator[Core]:
    """The tensors in what a function returned."""
    if isinstance(made, Core):
        yield made
    elif isinstance(made, (tuple, list, dict)):
        for each in made.values() if isinstance(made, dict) else made:
            yield from _tensors(each)


class Stretch:
    """What is recorded from here to `end()`: how many values, and how many nodes that save something.

    That is known within one trace only. Nothing rests on it: gradients are those of the first run.
    """

    def __init__(self) -> None:
        tape = tapes.tape
        self.serial, self.begun, self.count = tape.serial, tape.state, -tape.count
        self.ended: Any = None

    def end(self) -> None:
        tape = tapes.tape
        if tape.serial == self.serial and not tape.depth:  # else other things are on the tape, too
            self.ended, self.count = tape.state, self.count + tape.count

    def saves(self) -> int:
        """How many nodes save something."""
        found = [at.event for at in events(self.ended, self.begun)]
        nodes = [known.saves for e in found if type(e) is Call for known in e.template.nodes or ()]
        return sum(nodes) + sum(type(e) is Step for e in found)


@contextmanager
def own_packers_only() -> Iterator[None]:
    """Within, a user's `saved_tensors_hooks` do not hear of what is saved: that is the checkpoint's, not theirs."""
    packers, mode.packers = mode.packers, []
    try:
        yield
    finally:
        mode.packers = packers


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
