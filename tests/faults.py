"""Training steps in the middle of which something fails: a handler of signals raises, or memory is refused.

Whatever fails, and wherever: nothing is lost, all switches are as before, and the steps after it are those of a twin
that was made of what can be seen then.
"""

from __future__ import annotations

import _testcapi  # type: ignore[import-not-found]
import opcode
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import pullback as torch
from pullback.runtime.tensor.trace import tape

RUNTIME = str(Path(tape.__file__).parents[1])
DATA = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
KINDS = ("plain", "norm", "inplace", "views", "two", "accumulate", "look", "data", "branch")
OPTIMISERS: dict[str, Any] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "asgd": lambda p: torch.optim.ASGD(p, lr=0.01),
}


class Fault(TimeoutError):
    """What the handler of a signal raises."""


class Job:
    """A model, what trains it, and one step of it."""

    def __init__(self, kind: str, optimiser: str) -> None:
        torch.manual_seed(0)
        nn, self.kind, self.optimiser = torch.nn, kind, optimiser
        between: list[Any] = [nn.BatchNorm1d(6), nn.ReLU()] if kind == "norm" else [nn.ReLU(inplace=kind == "inplace")]
        self.model = nn.Sequential(nn.Linear(4, 6, bias=kind != "norm"), *between, nn.Linear(6, 2))
        params = list(self.model.parameters())
        groups = [params[:2], params[2:]] if kind == "two" else [params]
        self.optimisers = [OPTIMISERS[optimiser](group) for group in groups]
        self.data, self.count = torch.tensor(DATA), torch.zeros(3)

    def step(self, k: int) -> None:
        for each in self.optimisers:
            if self.kind != "accumulate" or k % 2 == 0:
                each.zero_grad()
        y = self.model(self.data * (1.0 + k * 0.1))
        if self.kind == "views":
            y = y.view(-1)[:6].clone()
            y[1:3] *= 2.0
            self.count[1:].add_(1.0)
        if self.kind == "inplace":
            self.count += y.detach().sum() * 0.1
            y = y * 1.0
            y.mul_(0.5)
        loss = y.pow(2).mean()
        if self.kind == "look":
            loss.item()
        if self.kind == "branch" and loss > 0.1:
            loss = loss * 2.0
        loss.backward()
        for each in self.optimisers:
            each.step()
        if self.kind == "data":
            with torch.no_grad():
                for p in self.model.parameters():
                    p.data = p.data * 0.999
                    p.mul_(0.999)

    def values(self) -> list[tuple[str, np.ndarray]]:
        """All that can be seen of it."""
        found = [(name, np.array(v.tolist())) for name, v in self.model.state_dict().items()]
        found.append(("count", np.array(self.count.tolist())))
        for n, each in enumerate(self.optimisers):
            for p, state in sorted(each.state_dict()["state"].items()):
                found += [(f"{n}.{p}.{name}", np.array(getattr(v, "tolist", lambda v=v: v)()))
                          for name, v in sorted(state.items())]
        found += [(f"{name}.grad", np.array([] if p.grad is None else p.grad.tolist()))
                  for name, p in self.model.named_parameters()]
        return found

    def twin(self) -> Job:
        """The same, made anew of what can be seen."""
        other = Job(self.kind, self.optimiser)
        other.model.load_state_dict({name: v.clone() for name, v in self.model.state_dict().items()})
        for theirs, mine in zip(other.optimisers, self.optimisers, strict=True):
            theirs.load_state_dict(mine.state_dict())
        for p, q in zip(other.model.parameters(), self.model.parameters(), strict=True):
            p.grad = None if q.grad is None else torch.tensor(q.grad.tolist())
        other.count = torch.tensor(self.count.tolist())
        return other


def differing(a: list[tuple[str, np.ndarray]], b: list[tuple[str, np.ndarray]]) -> list[str]:
    """The names of what is not the same."""
    return [
        name
        for (name, x), (_, y) in zip(a, b, strict=True)
        if x.shape != y.shape or not np.allclose(x, y, rtol=2e-5, atol=2e-5)
    ]


POINTS = {opcode.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD") if name in opcode.opmap}
RESUME = opcode.opmap["RESUME"]


class Signal:
    """Raises at the n-th place in the library where the interpreter would run a handler of signals: where functions
    and turns of loops begin, and after calls of what is no Python."""

    error = Fault

    def __init__(self, at: int) -> None:
        self.at, self.met, self.calls, self.where = at, 0, 0, ""
        self.last: dict[FrameType, tuple[int, int]] = {}

    def __enter__(self) -> Signal:
        self.before = sys.gettrace()
        self.handler = signal.signal(signal.SIGUSR1, self._inside)  # so that it counts as one
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)
        signal.signal(signal.SIGUSR1, self.handler)
        self.last.clear()

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        self.calls += 1
        if not frame.f_code.co_filename.startswith(RUNTIME):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._inside

    def _inside(self, frame: Any, event: Any, arg: Any = None) -> Any:
        if event == "opcode":
            code = frame.f_code.co_code[frame.f_lasti]
            before, calls = self.last.get(frame, (-1, 0))
            self.last[frame] = code, self.calls
            if code == RESUME or (before in POINTS and calls == self.calls):
                self.met += 1
                if self.met == self.at:
                    self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                    raise Fault("a signal")
        elif event == "return":
            self.last.pop(frame, None)
        return self._inside


class NoMemory:
    """Refuses the n-th allocation of the interpreter."""

    error = MemoryError

    def __init__(self, at: int) -> None:
        self.at = at
        self.where = f"allocation {at}"

    def __enter__(self) -> NoMemory:
        _testcapi.set_nomemory(self.at, self.at + 1)
        return self

    def __exit__(self, *_: object) -> None:
        _testcapi.remove_mem_hooks()


def switches() -> tuple[Any, ...]:
    """What a failure must leave as it was."""
    mine: Any = tape.tapes.tape
    idle = mine.call is None and mine.again is None and not mine.busy and not mine.lock._is_owned()
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), mine.depth, mine.mode, idle


def places(kind: str, optimiser: str, warm: int) -> int:
    """In how many places a signal can come in a step after `warm` others."""
    job = Job(kind, optimiser)
    for k in range(warm):
        job.step(k)
    with Signal(-1) as counter:
        job.step(warm)
    return counter.met


def wrong(kind: str, optimiser: str, warm: int, fault: Any) -> str:
    """What is wrong after a step in which something failed, or nothing."""
    job = Job(kind, optimiser)
    for k in range(warm):
        job.step(k)
    before, raised = switches(), None
    try:
        with fault:
            job.step(warm)
    except BaseException as error:
        raised = error
    label = f"{kind} {optimiser} {warm} {fault.where}: "
    # SystemError: CPython's own f_back gives None where there is no memory, and leaves the error set
    if raised is not None and not isinstance(raised, (fault.error, SystemError)):
        return f"{label}{raised!r}"
    if raised is None and isinstance(fault, Signal) and fault.where:
        return f"{label}the error was lost"
    if switches() != before:
        return f"{label}{switches()} after {before}"
    try:
        twin = job.twin()
        for k in range(warm + 1, warm + 4):
            names = differing(job.values(), twin.values())
            if names:
                return f"{label}step {k}: {names}"
            job.step(k)
            twin.step(k)
    except Exception as error:
        return f"{label}lost: {error!r}"
    return ""
