"""DataLoader: batches of a dataset's examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, Generic

from ..tensor.face.functions import randint, tensor
from ..tensor.value.dtypes import int64
from .collate import default_collate, default_convert
from .datasets import Example, IterableDataset, examples, rows_of
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .workers import END, WorkerInfo, loaded

FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless(Sampler[None]):
    """The sampler of what is iterated over."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[Example]):
    """Iterate over it to get batches, made of examples by `collate_fn`; every iteration begins anew.

    With `num_workers` that many threads load ahead. Pinned memory, process contexts and persistence have no meaning for
    them and are ignored.
    """

    _ready = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Sequence[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.multiprocessing_context, self.persistent_workers = multiprocessing_context, persistent_workers
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler), ("shuffle", shuffle or None)):
                if given is not None:
                    raise ValueError(f"DataLoader with IterableDataset takes no {name} option, got {given}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None gives examples, not batches, and excludes drop_last")
        if sampler is None:
            sampler = self._sampler(bool(shuffle))
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._ready = True

    @staticmethod
    def _check_workers(count: int, timeout: float, ahead: int | None, persistent: bool, context: Any) -> None:
        if count < 0:
            raise ValueError(f"num_workers option should be non-negative, got {count}; 0 loads in this thread")
        if timeout < 0:
            raise ValueError(f"timeout option should be non-negative, got {timeout}")
        if count == 0:
            for name, given in (("prefetch_factor", ahead), ("multiprocessing_context", context)):
                if given is not None:
                    raise ValueError(f"{name} option needs num_workers > 0")
        if ahead is not None and ahead < 0:
            raise ValueError(f"prefetch_factor option should be non-negative, got {ahead}")
        if persistent and count == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    def _sampler(self, shuffle: bool) -> Iterable[Any]:
        if self._iterable:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        if not self._iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    # ---- iterating

    def __iter__(self) -> Iterator[Any]:
        seed = int(randint(0, 2**63, (), generator=self.generator).item())  # PyTorch's loaders draw one in any case
        if self.num_workers:
            return self._by_workers(seed)
        return self._stream(iter(self.dataset)) if self._iterable else map(self._batch, self._numbers())

    def _numbers(self) -> Iterator[Any]:
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _batch(self, numbers: Any) -> Any:
        """What the loader gives for a list of examples' numbers, or for one."""
        if self.batch_sampler is None:
            return self.collate_fn(self.dataset[numbers])
        if self.collate_fn is default_collate and (found := rows_of(self.dataset, numbers)):
            rows, index = found[0], tensor(list(found[1]), dtype=int64)
            return [t[index] for t in rows]
        return self.collate_fn(examples(self.dataset, numbers))

    def _stream(self, source: Iterator[Any]) -> Iterator[Any]:
        """Batches of what an iterable dataset gives."""
        if self.batch_size is None:
            yield from map(self.collate_fn, source)
            return
        while batch := list(islice(source, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def _by_workers(self, seed: int) -> Iterator[Any]:
        count = self.num_workers
        infos = [WorkerInfo(k, count, seed + k, self.dataset) for k in range(count)]
        tasks = self._pulls() if self._iterable else map(self._task, self._numbers())
        return loaded(tasks, infos, self.worker_init_fn, self.prefetch_factor or 1, self.timeout)

    def _task(self, numbers: Any) -> Callable[[WorkerInfo], Any]:
        return lambda info: self._batch(numbers)

    def _pulls(self) -> Iterator[Callable[[WorkerInfo], Any]]:
        """Tasks that take the next batch of the worker's own iteration over the dataset."""
        streams: dict[int, Iterator[Any]] = {}

        def pull(info: WorkerInfo) -> Any:
            if info.id not in streams:
                streams[info.id] = self._stream(iter(self.dataset))
            return next(streams[info.id], END)

        return repeat(pull)
