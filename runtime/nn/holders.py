"""Lists and dictionaries of parameters that are modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ..tensor.value.core import Core
from .containers import pairs_of, place_of
from .module import Module
from .parameter import Parameter


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Core) and not isinstance(value, Parameter) else value


TYPES = {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "bool": "Bool"}


def _shown(key: str, value: Any, by_class: bool = False) -> str:
    if not isinstance(value, Core):
        return f"({key}): Object of type: {type(value).__name__}"
    kind, shape = "Parameter" if isinstance(value, Parameter) else "Tensor", "x".join(map(str, value.shape))  # type: ignore
    said = str(value.dtype)  # type: ignore[attr-defined]
    if by_class:
        said = f"torch.{TYPES[said.removeprefix('torch.')]}Tensor"
    return f"({key}): {kind} containing: [{said} of size {shape}]"


class ParameterList(Module):
    """A list of parameters; other tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        object.__setattr__(self, "_size", 0)
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return type(self)([self[k] for k in range(len(self))[at]])
        return getattr(self, str(place_of(at, len(self))))

    def __setitem__(self, at: int, value: Any) -> None:
        setattr(self, str(place_of(at, len(self))), _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Add a parameter at the end."""
        object.__setattr__(self, "_size", len(self) + 1)
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Core):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join("  " + _shown(str(k), v) for k, v in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name; other tensors become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        object.__setattr__(self, "_keys", {})
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, str(key))

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is"
                            f" '{type(key).__name__}').")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, str(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> ParameterDict:
        made = ParameterDict(OrderedDict(other.items()))
        made.update(self)
        return made

    def copy(self) -> ParameterDict:
        """Another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of a name, which is `default` from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of a name, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary with one value for all names."""
        return ParameterDict((k, default) for k in keys)

    def clear(self) -> None:
        """Remove all parameters."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a parameter out."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last parameter out, with its name."""
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parameters."""
        return [(k, self[k]) for k in self._keys]

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return [self[k] for k in self._keys]

    def update(self, parameters: Any) -> None:
        """Add parameters, from pairs or from a dictionary: a plain one by the order of its keys, as PyTorch does."""
        pairs = pairs_of(self, parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join("  " + _shown(str(k), v, True) for k, v in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
