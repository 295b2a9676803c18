"""Iterators of loaders: what is to be loaded goes in, as lists of examples' numbers, and batches come out."""

from __future__ import annotations

import multiprocessing
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

from ..tensor.face.functions import tensor
from ..tensor.value.dtypes import int64
from .collate import default_collate
from .datasets import examples, rows_of
from .workers import BATCH, END, Crew


class Fetcher:
    """Makes batches; a worker has a copy. `size` is the length of a batch of a dataset that is iterated over."""

    nothing = object()

    def __init__(
        self, dataset: Any, iterable: bool, batched: bool, size: int | None, collate: Callable[[Any], Any],
        drop_last: bool,
    ) -> None:  # fmt: skip
        self.dataset, self.iterable, self.batched, self.size = dataset, iterable, batched, size
        self.collate, self.drop_last = collate, drop_last
        self.stream: Iterator[Any] | None = None

    def begin(self) -> None:
        self.stream = iter(self.dataset) if self.iterable else None

    def fetch(self, numbers: Any) -> Any:
        """A batch, or one example; `nothing` where a dataset that is iterated over has come to its end."""
        if self.stream is not None:
            return self.next(self.stream)
        if not self.batched:
            return self.collate(self.dataset[numbers])
        if self.collate is default_collate and (found := rows_of(self.dataset, numbers)):
            rows, index = found[0], tensor(list(found[1]), dtype=int64)
            return [t[index] for t in rows]
        return self.collate(examples(self.dataset, numbers))

    def next(self, stream: Iterator[Any]) -> Any:
        if self.size is None:
            found = next(stream, self.nothing)
            return found if found is self.nothing else self.collate(found)
        batch = list(islice(stream, self.size))
        if not batch or (self.drop_last and len(batch) < self.size):
            return self.nothing
        return self.collate(batch)


class Loading:
    """The batches of one iteration, made by this process."""

    def __init__(self, fetcher: Fetcher, numbers: Iterator[Any]) -> None:
        self.fetcher, self.numbers = fetcher, numbers
        fetcher.begin()

    def __iter__(self) -> Loading:
        return self

    def __next__(self) -> Any:
        found = self.fetcher.fetch(next(self.numbers))
        if found is self.fetcher.nothing:
            raise StopIteration
        return found


class LoadingAhead:
    """The batches that workers make, in order: number k by the next worker in turn that is not at its end.

    Every worker has `ahead` tasks under way. The workers end with the iterator, or with the iteration where they are
    not kept for the next one.
    """

    def __init__(self, loader: Any, fetcher: Fetcher, seed: int) -> None:
        if loader.prefetch_factor < 1:
            raise AssertionError("prefetch_factor must be greater than 0 for a DataLoader with workers")
        self.count, self.ahead = loader.num_workers, loader.prefetch_factor
        self.timeout, self.in_order, self.kept = loader.timeout or None, loader.in_order, loader.persistent_workers
        context = loader.multiprocessing_context or multiprocessing
        self.crew = Crew(context, fetcher, self.count, seed, loader.worker_init_fn)
        self.closing = weakref.finalize(self, self.crew.close)  # which Python calls at its own end, too
        self.epoch = 0

    def begin(self, numbers: Iterator[Any]) -> LoadingAhead:
        """Start an iteration; what is under way from the one before is given up."""
        self.epoch += 1
        self.numbers, self.turns = numbers, cycle(range(self.count))
        self.active, self.under_way = set(range(self.count)), deque[int]()
        for _ in range(self.ahead * self.count):
            self.add()
        return self

    def add(self) -> None:
        task = next(self.numbers, self) if self.active else self
        if task is self:
            return
        if self.in_order:
            worker = next(k for k in self.turns if k in self.active)
        else:
            worker = min(self.active, key=self.under_way.count)
        self.crew.send(worker, self.epoch, task)
        self.under_way.append(worker)

    def __iter__(self) -> LoadingAhead:
        return self

    def __next__(self) -> Any:
        while self.under_way:
            worker, epoch, kind, value = self.crew.receive(
                (self.under_way[0],) if self.in_order else set(self.under_way), self.timeout
            )
            if epoch != self.epoch:
                continue
            self.under_way.remove(worker)
            if kind == END:
                if worker in self.active:
                    self.active.remove(worker)
                    self.add()
                continue
            self.add()
            if kind == BATCH:
                return value
            raise value.error()
        if not self.kept:
            self.closing()
        raise StopIteration
