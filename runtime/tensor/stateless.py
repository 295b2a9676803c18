"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with these tensors, by their names in the state_dict, for its parameters and buffers."""
    dicts = parameter_and_buffer_dicts
    tensors = dict(dicts) if isinstance(dicts, Mapping) else {k: v for d in dicts for k, v in d.items()}
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, tensors, strict):
        return module(*given, **(kwargs or {}))


@contextmanager
def _swapped(module: Any, tensors: Mapping[str, Any], strict: bool) -> Iterator[None]:
    places = {}
    for path, owner in module.named_modules():
        for table in (owner._parameters, owner._buffers):
            places.update({f"{path}.{name}" if path else name: (table, name) for name in table})
    unknown = [k for k in tensors if k not in places]
    missing = [k for k in places if k not in tensors]
    if strict and (unknown or missing):
        raise RuntimeError(f"Unexpected key(s): {unknown}. Missing key(s): {missing}.")
    chosen = {k: places[k] for k in tensors if k in places}
    before = {k: table[name] for k, (table, name) in chosen.items()}
    try:
        for k, (table, name) in chosen.items():
            table[name] = tensors[k]
        yield
    finally:
        for k, (table, name) in chosen.items():
            table[name] = before[k]


__all__ = ["functional_call"]
