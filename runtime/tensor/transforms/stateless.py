"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..ops.arranging.pieces import stack


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


def reparametrized(module: Any, parameters_and_buffers: Mapping[str, Any], **options: Any) -> Any:
    """A block in which the module has these tensors in place of its own."""
    if options.pop("tie_weights", False) or (options and set(options) != {"strict"}):
        raise NotImplementedError(f"_reparametrize_module with {', '.join(options) or 'tie_weights'}")
    return _swapped(module, parameters_and_buffers, options.get("strict", False))


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


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of modules of one make, each a leaf with the modules as its first dimension."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(dicts: list[dict[str, Any]]) -> dict[str, Any]:
    made = {}
    for name in dicts[0]:
        tensors = [d[name] for d in dicts]
        required = {t.requires_grad for t in tensors}
        if len(required) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        made[name] = stack([t.detach() for t in tensors]).requires_grad_(*required)
    return made


__all__ = ["functional_call", "stack_module_state"]
