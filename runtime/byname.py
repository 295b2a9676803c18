"""How compiled functions are copied and pickled: like functions, by the name of a module under which they are found."""

from __future__ import annotations

import sys
from typing import Any


class ByName:
    """Copies are the object itself, and a pickle is a name."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return global_name(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def global_name(function: Any) -> str:
    """The name in its module that leads to this very object; a TypeError if there is none."""
    module = sys.modules.get(function.__module__)
    spelled = getattr(function, "__qualname__", function.__name__)
    if module is not None:
        found: Any = module
        for part in spelled.split("."):
            found = getattr(found, part, None)
        if found is function:
            return spelled
        for name, value in tuple(vars(module).items()):
            if value is function:
                return name
    raise TypeError(
        f"cannot pickle {function!r}: it is pickled by its name, but no name of the module {function.__module__} leads "
        "to it. Give it one at the top of the module, as in `slope = grad(loss)`, or pickle the plain function and "
        "apply the transform where it is loaded")


__all__ = ["ByName", "global_name"]
