"""Names of TorchScript's that programs have at the top of PyTorch: classes that nothing is an instance of."""

from __future__ import annotations

from typing import Any, NoReturn

from ..scripting import NAMES

ScriptFunction, ScriptModule = NAMES["ScriptFunction"], NAMES["ScriptModule"]


class _Registered:
    """Classes in C++ that a library has registered under a name: none are loaded here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"Class {self._name}.{name} is not registered: no libraries in C++ are loaded here")


class _Classes:
    """`torch.classes`, by the name under which a library registers its classes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Registered(name)

    def load_library(self, path: str) -> NoReturn:
        """Refuse to load a library."""
        raise NotImplementedError(f"classes.load_library({path!r}): libraries in C++ for PyTorch are not loaded here")


classes = _Classes()

__all__ = ["ScriptFunction", "ScriptModule", "classes"]
