"""Threads that load batches ahead. Batch k is loaded by worker k modulo their number, and batches come in order.

Each worker is one thread, so what a dataset keeps for a worker stays with it; `get_worker_info()` tells which one runs.
Threads share the dataset, where PyTorch's processes copy it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker runs: its number, how many there are, its seed, and the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Here(threading.local):
    info: WorkerInfo | None = None


_here = _Here()
END = object()
"""What a worker gives that has nothing more."""


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this code, None outside of workers."""
    return _here.info


def loaded(
    tasks: Iterator[Callable[[WorkerInfo], Any]],
    infos: list[WorkerInfo],
    init: Callable[[int], Any] | None,
    ahead: int,
    timeout: float,
) -> Iterator[Any]:
    """The results of tasks, in order; a worker that gives END gets no more. `ahead` tasks a worker are under way."""

    def start(info: WorkerInfo) -> None:
        _here.info = info
        if init is not None:
            init(info.id)

    threads = [ThreadPoolExecutor(1, f"pullback-data-{info.id}") for info in infos]
    under_way: deque[tuple[int, Future[Any]]] = deque()
    active = deque(range(len(infos)))

    def add() -> None:
        task = next(tasks, None) if active else None
        if task is not None:
            under_way.append((active[0], threads[active[0]].submit(task, infos[active[0]])))
            active.rotate(-1)

    try:
        for future in [thread.submit(start, info) for thread, info in zip(threads, infos, strict=True)]:
            future.result()
        for _ in range(max(1, ahead) * len(infos)):
            add()
        while under_way:
            number, future = under_way.popleft()
            try:
                result = future.result(timeout or None)
            except NotInTime:
                if future.done():
                    raise
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
            if result is END:
                if number in active:
                    active.remove(number)
            else:
                add()
                yield result
    finally:
        for thread in threads:
            thread.shutdown(wait=False, cancel_futures=True)
