"""Processes that load batches ahead: lists of examples' numbers go in, and batches come out in order.

Each worker has a pipe of its own: the program writes tasks to it, which a thread of the worker always takes, so that
neither side waits for the other to read, and reads batches from it when their turn comes. What goes through the pipes
is pickled as `multiprocessing` pickles it; nobody else has their ends.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..compiled.threads import set_num_threads
from ..tensor.face.functions import manual_seed
from ..tensor.face.tensor import hung_on, restored
from ..tensor.value.core import Core

BATCH, FAILURE, END = range(3)
"""What a worker answers: a batch, an error, or that it has nothing more."""
GRACE = 5.0
"""For how many seconds a worker may finish what it is at before it is ended."""


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker runs: its number, how many there are, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this code, None outside of workers."""
    return _info


# ---- in the worker


class _Outgoing(ForkingPickler):
    """Pickles batches: of a part of a larger memory, such as a row, the part alone."""

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Core):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "a DataLoader's worker cannot send a tensor that has a history: no gradient flows from one process to"
                " another. Call detach() on it in the dataset or in collate_fn, or use num_workers=0"
            )
        tensor: Any = obj
        tensor._tell()
        array, storage = tensor._array(), tensor._storage
        if storage is None or math.prod(storage.shape()) <= array.size:
            return NotImplemented
        return restored, (type(obj), np.array(array, order="C"), obj.requires_grad), hung_on(tensor) or None


class _Failure:
    """An error of a worker, with its traceback as text, because tracebacks stay in their process."""

    def __init__(self, number: int, error: BaseException) -> None:
        self.kind, self.number = type(error), number
        self.text = "".join(traceback.format_exception(error))

    def error(self) -> BaseException:
        """The same class of error, if it can be made of a text."""
        said = f"Caught {self.kind.__name__} in DataLoader worker process {self.number}.\nOriginal {self.text}"
        try:
            return self.kind(_Lines(said) if self.kind is KeyError else said)
        except Exception:
            return RuntimeError(said)


class _Lines(str):
    """A text that a KeyError shows as it is."""

    def __repr__(self) -> str:
        return self


def _packed(epoch: int, kind: int, value: Any, number: int) -> Any:
    """An answer's bytes; where it cannot be pickled, those of the error."""
    try:
        made = BytesIO()
        _Outgoing(made).dump((epoch, kind, value))
        return made.getbuffer()
    except Exception as error:
        failure = _Failure(number, error)
        if kind == FAILURE:  # of a class that only this process knows
            failure.kind, failure.text = RuntimeError, value.text
        return ForkingPickler.dumps((epoch, FAILURE, failure))


def _seed(base: int, number: int) -> None:
    """Seed all generators as PyTorch's workers do."""
    random.seed(base + number)
    manual_seed(base + number)
    np.random.seed(np.random.SeedSequence([number, base & 0xFFFFFFFF, base >> 32, 0]).generate_state(4))


def _begun(fetcher: Any, number: int, count: int, base: int, init: Callable[[int], Any] | None) -> _Failure | None:
    global _info
    set_num_threads(1)
    _seed(base, number)
    _info = WorkerInfo(number, count, base + number, fetcher.dataset)
    try:
        if init is not None:
            init(number)
    except Exception as error:
        return _Failure(number, error)
    return None


def work(
    pipe: Connection, fetcher: Any, number: int, count: int, base: int, init: Callable[[int], Any] | None
) -> None:
    """What a worker does until it is told to stop, or the program is gone."""
    tasks: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
    newest = 0

    def listen() -> None:
        nonlocal newest
        program: Any = parent_process()
        task: Any = ()
        while task is not None:
            if pipe not in wait([pipe, program.sentinel]):
                os._exit(1)
            task = pipe.recv()
            newest = math.inf if task is None else task[0]
            tasks.put(task)

    try:
        threading.Thread(target=listen, daemon=True).start()
        failure, epoch = _begun(fetcher, number, count, base, init), 0
        while (task := tasks.get()) is not None:
            if task[0] < newest:
                continue  # of an iteration that was given up
            if task[0] != epoch:
                epoch = task[0]
                fetcher.begin()
            kind, value = (FAILURE, failure) if failure else _answer(fetcher, task[1], number)
            pipe.send_bytes(_packed(epoch, kind, value, number))
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the program has them, too, or is gone


def _answer(fetcher: Any, numbers: Any, number: int) -> tuple[int, Any]:
    try:
        found = fetcher.fetch(numbers)
    except Exception as error:
        return FAILURE, _Failure(number, error)
    return (END, None) if found is fetcher.nothing else (BATCH, found)


# ---- in the program


class Crew:
    """The workers of one iterator."""

    def __init__(self, context: Any, fetcher: Any, count: int, base: int, init: Callable[[int], Any] | None) -> None:
        self.owner, self.pipes, self.processes = os.getpid(), [], []
        try:
            for k in range(count):
                here, there = context.Pipe()
                process = context.Process(target=work, args=(there, fetcher, k, count, base, init), daemon=True)
                self.pipes.append(here)
                process.start()
                self.processes.append(process)
                there.close()  # before the next worker inherits it: a broken pipe tells of the end of this one
        except BaseException:
            self.close()
            raise

    def send(self, number: int, epoch: int, numbers: Any) -> None:
        with contextlib.suppress(OSError):  # of one that has ended: told when its answer is awaited
            self.pipes[number].send((epoch, numbers))

    def receive(self, numbers: Iterable[int], timeout: float | None) -> tuple[int, int, int, Any]:
        """The number of the first of these workers that has answered, and its answer."""
        owners: dict[Any, int] = {}
        for k in numbers:
            owners[self.pipes[k]] = owners[self.processes[k].sentinel] = k
        ready = wait(list(owners), timeout)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        k = owners[ready[0]]
        try:
            if not self.pipes[k].poll():
                raise EOFError
            data = self.pipes[k].recv_bytes()
        except (EOFError, OSError):
            process = self.processes[k]
            process.join(1)
            raise RuntimeError(
                f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly (exit code {process.exitcode})"
            ) from None
        return k, *ForkingPickler.loads(data)  # type: ignore[attr-defined]

    def close(self) -> None:
        """Tell all to stop, read what they still write, and end those that take long."""
        if os.getpid() != self.owner or not self.processes:  # a child of a fork has the object, not the workers
            return
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.send(None)
        left = dict(zip(self.pipes, self.processes, strict=False))
        end = time.monotonic() + GRACE
        while left and (ready := wait([*left, *(p.sentinel for p in left.values())], max(0, end - time.monotonic()))):
            for pipe, process in list(left.items()):
                try:
                    if pipe in ready:
                        pipe.recv_bytes()
                except (EOFError, OSError):
                    del left[pipe]
                    continue
                if process.sentinel in ready:
                    del left[pipe]
        for process in left.values():
            process.terminate()
        for process in self.processes:
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()
        for pipe in self.pipes:
            pipe.close()
        self.processes = []
