"""Datasets: what has examples by number, or gives one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..tensor.face.functions import randperm
from ..tensor.value.core import Core

Example = TypeVar("Example", covariant=True)


class Dataset(Generic[Example]):
    """Examples by number: write `__getitem__`, mostly `__len__`, and `__getitems__` if a batch can be had at once."""

    def __getitem__(self, index: Any) -> Example:
        raise NotImplementedError(f"{type(self).__name__}.__getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Example]):
    """Examples one after the other: write `__iter__`."""

    def __iter__(self) -> Iterator[Example]:
        raise NotImplementedError(f"{type(self).__name__}.__iter__")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """The rows of tensors with equally many: example k is the tuple of all rows k."""

    def __init__(self, *tensors: Any) -> None:
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError(f"Size mismatch between tensors: {[t.shape[0] for t in tensors]} rows")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Datasets side by side: example k is the tuple of all examples k, or with names given the dict."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("StackDataset takes datasets either by position (examples are tuples) or by name (dicts)")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        sizes = [len(d) for d in self._parts()]
        if any(n != sizes[0] for n in sizes):
            raise ValueError(f"Size mismatch between datasets: {sizes}")
        self._length = sizes[0]

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _put(self, values: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, values, strict=True)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._put([d[index] for d in self._parts()])

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        columns = [examples(d, indices) for d in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._put(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        k = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[k][index - (self.cumulative_sizes[k - 1] if k else 0)]


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for d in self.datasets:
            self._check(d)
            yield from d

    def __len__(self) -> int:
        total = 0
        for d in self.datasets:
            self._check(d)
            total += len(d)
        return total

    @staticmethod
    def _check(dataset: Any) -> None:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError(f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}")


class Subset(Dataset[Example]):
    """The examples of a dataset with given numbers."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[k] for k in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return examples(self.dataset, [self.indices[k] for k in indices])

    def __len__(self) -> int:
        return len(self.indices)


def examples(dataset: Any, indices: Sequence[int]) -> list[Any]:
    """Several examples, in one call where the dataset can."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    return [dataset[k] for k in indices]


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset[Any]]:
    """Subsets of given lengths, or of given shares of 1, of the examples in random order."""
    count, sizes = len(dataset), list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for k, share in enumerate(sizes):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {k} is not between 0 and 1")
        sizes = [math.floor(count * share) for share in sizes]
        for k in range(count - int(sum(sizes))):
            sizes[k % len(sizes)] += 1
        for k, size in enumerate(sizes):
            if size == 0:
                warnings.warn(f"Length of split at index {k} is 0: its dataset is empty", stacklevel=2)
    if sum(sizes) != count:
        raise ValueError(f"Sum of input lengths does not equal the length of the dataset: {sum(sizes)} and {count}")
    order = randperm(count, generator=generator).tolist()
    ends = itertools.accumulate(int(size) for size in sizes)
    return [Subset(dataset, order[end - int(size) : end]) for end, size in zip(ends, sizes, strict=True)]


def rows_of(dataset: Any, indices: Sequence[int]) -> tuple[tuple[Any, ...], Sequence[int]] | None:
    """The tensors and row numbers that these examples are, if the dataset is made of tensors' rows."""
    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[k] for k in indices]
    if type(dataset) is not TensorDataset or not all(isinstance(t, Core) for t in dataset.tensors):
        return None
    return dataset.tensors, indices
