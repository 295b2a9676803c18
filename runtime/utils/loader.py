"""DataLoader: batches of a dataset's examples."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from multiprocessing.context import BaseContext
from typing import Any, Generic

from ..tensor.face.functions import randint
from .collate import default_collate, default_convert
from .datasets import Example, IterableDataset
from .loading import Fetcher, Loading, LoadingAhead
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler

FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless(Sampler[None]):
    """The sampler of what is iterated over."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[Example]):
    """Iterate over it to get batches, made of examples by `collate_fn`; every iteration begins anew.

    With `num_workers` that many processes load ahead, each with a copy of the dataset and `prefetch_factor` batches
    under way; batches come in order unless `in_order=False`. Processes start as `multiprocessing` starts them, or by
    `multiprocessing_context`; where that is not "fork", what they are given is pickled. Their seeds and random
    numbers are PyTorch's. An error in a worker is raised here, with the worker's traceback in its text. Memory is not
    pinned, since there is no device to copy to.

        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    """

    _ready = False
    _kept: LoadingAhead | None = None

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
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers = persistent_workers
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
        object.__setattr__(self, name, _context(value) if name == "multiprocessing_context" else value)

    def __len__(self) -> int:
        if not self._iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    # ---- iterating

    def __iter__(self) -> Iterator[Any]:
        if self._kept is not None:
            return self._kept.begin(self._numbers())
        numbers = self._numbers()  # of a sampler that draws at once, before the seed is drawn
        seed = int(randint(0, 2**63, (), generator=self.generator).item())  # PyTorch's loaders draw one in any case
        fetcher = Fetcher(
            self.dataset, self._iterable, self.batch_sampler is not None, self.batch_size, self.collate_fn,
            self.drop_last,
        )  # fmt: skip
        if not self.num_workers:
            return Loading(fetcher, numbers)
        made = LoadingAhead(self, fetcher, seed)
        if self.persistent_workers:
            self._kept = made
        return made.begin(self._numbers())  # a second time, as in PyTorch

    def _numbers(self) -> Iterator[Any]:
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_kept"}


def _context(given: Any) -> Any:
    """How processes are started, by its name or as an object of multiprocessing's."""
    known = multiprocessing.get_all_start_methods()
    if isinstance(given, str) and given in known:
        return multiprocessing.get_context(given)
    if isinstance(given, str):
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {known}, but got"
            f" multiprocessing_context={given!r}"
        )
    if given is not None and not isinstance(given, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method,"
            f" but got multiprocessing_context={given}"
        )
    return given
