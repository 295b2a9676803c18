"""A batch from examples: tensors are stacked, numbers become tensors, and what holds them keeps its form.

    default_collate([{"x": 1.5, "y": (1, "a")}, {"x": 2.5, "y": (2, "b")}])
    {"x": tensor([1.5000, 2.5000], dtype=torch.float64), "y": [tensor([1, 2]), ("a", "b")]}
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..tensor.face.functions import as_tensor, stack, tensor
from ..tensor.value.core import Core
from ..tensor.value.dtypes import float64


def default_collate(batch: Any) -> Any:
    """One value from a list of alike examples. Raises TypeError for other objects, RuntimeError for unequal lengths."""
    first = batch[0]
    if isinstance(first, Core):
        return stack(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUOV":
            raise _unknown(first.dtype)
        return stack([as_tensor(x) for x in batch])
    if isinstance(first, (np.bool_, np.number)):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([x[key] for x in batch]) for key in first})
    if not isinstance(first, Sequence):
        raise _unknown(type(first))
    if any(len(x) != len(first) for x in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return _like_sequence(first, [default_collate(column) for column in zip(*batch, strict=True)])


def default_convert(data: Any) -> Any:
    """An example that is no batch: NumPy's arrays become tensors, all else stays."""
    if isinstance(data, (np.ndarray, np.bool_, np.number)):
        return data if isinstance(data, np.ndarray) and data.dtype.kind in "SUOV" else as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        made = [default_convert(value) for value in data]
        return made if type(data) is tuple else _like_sequence(data, made)
    return data


def _like_mapping(first: Mapping[Any, Any], made: dict[Any, Any]) -> Any:
    """The same class as the first example, where that can be made."""
    if isinstance(first, MutableMapping):
        return _made(lambda: _updated(first, made), made)
    return _made(lambda: type(first)(made), made)  # type: ignore[call-arg]


def _like_sequence(first: Sequence[Any], made: list[Any]) -> Any:
    if isinstance(first, tuple):
        return type(first)(*made) if hasattr(first, "_fields") else made
    if isinstance(first, MutableSequence):
        return _made(lambda: _replaced(first, made), made)
    return _made(lambda: type(first)(made), made)  # type: ignore[call-arg]


def _updated(first: MutableMapping[Any, Any], made: dict[Any, Any]) -> Any:
    twin = copy.copy(first)
    twin.update(made)
    return twin


def _replaced(first: MutableSequence[Any], made: Iterable[Any]) -> Any:
    twin = copy.copy(first)
    for k, value in enumerate(made):
        twin[k] = value
    return twin


def _made(make: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return make()
    except TypeError:
        return otherwise


def _unknown(what: Any) -> TypeError:
    return TypeError(f"default_collate: a batch holds tensors, numpy arrays, numbers, dicts or lists; found {what}")
