"""What packages import of `torch.nn.modules.utils`: sizes for each axis, and names of a state without a prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function, called `name`, that gives what it is given `n` times, or what is iterable as a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


single, pair = ntuple(1, "_single"), ntuple(2, "_pair")
triple, quadruple = ntuple(3, "_triple"), ntuple(4, "_quadruple")


def reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each `n` times: widths of `pad` from those of a layer."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names in a state, in place: `module.` of one that was wrapped to run on many devices."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


__all__ = [
    "consume_prefix_in_state_dict_if_present", "ntuple", "pair", "quadruple", "reverse_repeat_tuple", "single", "triple"
]  # fmt: skip
