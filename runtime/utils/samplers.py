"""Samplers: in which order the examples come, and in which batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..programs.distributed import get_rank, get_world_size
from ..tensor.face.functions import Generator, as_tensor, multinomial, randint, randperm
from ..tensor.value.dtypes import float64

Number = TypeVar("Number", covariant=True)


class Sampler(Generic[Number]):
    """Numbers of examples: write `__iter__`, and `__len__` where it is known."""

    def __iter__(self) -> Iterator[Number]:
        raise NotImplementedError(f"{type(self).__name__}.__iter__")


class SequentialSampler(Sampler[int]):
    """One after the other."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """In random order, or each drawn from all."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, generator = len(self.data_source), self.generator or _own_generator()
        if self.replacement:
            for k in range(0, self.num_samples + 1, 32):
                yield from randint(count, (min(32, self.num_samples - k),), generator=generator).tolist()
            return
        for left in range(self.num_samples, -1, -count):  # as in PyTorch, one more order is drawn at the end
            yield from randperm(count, generator=generator).tolist()[:left]

    def __len__(self) -> int:
        return self.num_samples


def _own_generator() -> Generator:
    """A generator whose seed is the program's next random number."""
    return Generator().manual_seed(int(randint(0, 2**63, ()).item()))


class SubsetRandomSampler(Sampler[Any]):
    """Given numbers in random order."""

    def __init__(self, indices: Sequence[Any], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        for k in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[k]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Numbers drawn with chances in proportion to weights."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if len(self.weights.shape) != 1:
            raise ValueError(f"weights should be a 1d sequence, got a tensor of shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        weights = np.asarray(self.weights.detach().numpy())
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
            raise RuntimeError("weights must be finite, none negative, and not all zero")
        if not self.replacement and self.num_samples > len(weights):
            raise RuntimeError(f"cannot draw {self.num_samples} different examples of {len(weights)}")
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The numbers of another sampler, in lists of `batch_size`; a shorter last one may be dropped."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`th example, from number `rank` on: the share of one of several processes.

    The order is drawn from `seed` and the epoch, which `set_epoch` tells, so that all processes have the same. Shares
    are equally long: the first examples come again at the end, or with `drop_last` the last ones are left out. Without
    `num_replicas` and `rank` there is the group of one process, from `distributed.init_process_group`.
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.num_samples = len(dataset) // num_replicas if drop_last else -(-len(dataset) // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order: Sequence[int] = range(count)
        if self.shuffle:
            order = randperm(count, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        for k in range(self.rank, self.total_size, self.num_replicas):
            yield order[k % count]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say in which epoch this is, for an order of its own."""
        self.epoch = epoch


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
