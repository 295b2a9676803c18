"""`as_torch()`: this package under the name `torch`, for programs and packages that import torch themselves.

    with pullback.as_torch():
        import einops_like_package          its `import torch.nn.functional as F` finds ours

`torch` is a module of its own that hands on to `pullback`, so that `torch.__version__` may be that of the release whose
behaviour the face follows: packages compare it. Submodules are pullback's own, the same objects under both names.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from .files_of_torch import HANDED_ON, handed_on, refused_module
from .refused import refused
from .version import TORCH, TorchVersion

OURS = __name__.partition(".")[0]
INNER = (f"{OURS}.compiler.", f"{OURS}.runtime")
"""How modules of ours begin that are none of PyTorch's."""


class Torch(ModuleType):
    """The module `torch` while pullback stands in for it: all of its names are pullback's."""

    def __init__(self) -> None:
        super().__init__("torch", sys.modules[OURS].__doc__)
        self.__version__ = TorchVersion(f"{TORCH}+{OURS}")
        self.__path__ = list(sys.modules[OURS].__path__)
        self.__file__ = sys.modules[OURS].__file__
        self.__spec__ = ModuleSpec("torch", FINDER, origin=self.__file__, is_package=True)

    def __getattr__(self, name: str) -> Any:
        if refused_module(f"torch.{name}") is not None:
            return importlib.import_module(f"torch.{name}")
        return self if name == "torch" else getattr(sys.modules[OURS], name)

    def __dir__(self) -> list[str]:
        return dir(sys.modules[OURS])


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("torch")` asks, by which packages find out whether torch is there."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(str(sys.modules[OURS].__file__)).parent / path


class _Refusing(ModuleType):
    """A module of PyTorch's that can be imported, and whose names say why they are refused when they are called."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, f"Refused: {reason}.")
        self.__path__: list[str] = []
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return refused(f"{self.__name__}.{name}", self._reason)


class _Finder(MetaPathFinder, Loader):
    """Finds `torch.nn` where `pullback.nn` is."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "torch":
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty one, which importing replaces by what `sys.modules` has in its place."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        reason = refused_module(name)
        if reason is not None:
            sys.modules[name] = _Refusing(name, reason)
            return
        ours = OURS + name.removeprefix("torch")
        try:  # of our package alone, as the prefix says
            sys.modules[name] = importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if not f"{ours}.".startswith(f"{error.name}."):
                raise
            why = f"No module named {name!r}: {OURS} stands in for torch, and has no {ours!r}"
            raise ModuleNotFoundError(why, name=name) from None
        _place_within(name, ours)

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Torch's, if it is asked for."""
        return [_Distribution()] if getattr(context, "name", None) == "torch" else []


def _place_within(name: str, ours: str) -> None:
    """Put what a package holds already under its other name, too: importing it then binds no name of the package,
    where functions have the names of files (`torch.nn.utils.weight_norm`)."""
    for held in [m for m in sys.modules if m.startswith(f"{ours}.") and not m.startswith(INNER)]:
        other = name + held.removeprefix(ours)
        if other not in sys.modules:
            sys.modules[other] = sys.modules[held]
            _hand_on(other, held)
    _hand_on(name, ours)


def _hand_on(name: str, ours: str) -> None:
    package, inner = sys.modules[name], name.removeprefix("torch").removeprefix(".")
    for last in HANDED_ON.get(inner, "").split():
        path = f"{inner}.{last}".removeprefix(".")
        made = handed_on(path, ours)
        if sys.modules.setdefault(made.__name__, made) is made and last not in vars(package):
            setattr(package, last, made)


FINDER = _Finder()
HELD = {"blocks": 0}
"""How many calls hold the name."""


class as_torch:
    """Put this package under the name `torch`: `import torch`, also by other packages, then finds pullback.

    Called plainly it holds until the program ends, or until `undo()`; as a context manager it holds within the block,
    and packages imported there keep what they found. If the real torch is imported already, RuntimeError: modules which
    hold it would meet those which hold ours, and neither's functions take the other's tensors.
    """

    def __init__(self) -> None:
        there = sys.modules.get("torch")
        if there is not None and not isinstance(there, Torch):
            raise RuntimeError(
                f"as_torch: torch itself is imported already (from {getattr(there, '__file__', None)}), and what holds"
                " it would meet what holds pullback; call as_torch() before anything imports torch"
            )
        if not HELD["blocks"]:
            sys.meta_path.insert(0, FINDER)
            sys.modules["torch"] = Torch()
            _place_within("torch", OURS)
        HELD["blocks"] += 1
        self._held = True

    def undo(self) -> None:
        """Give the name back, once all who took it have done so."""
        if not self._held:
            return
        self._held = False
        HELD["blocks"] -= 1
        if not HELD["blocks"]:
            sys.meta_path.remove(FINDER)
            for name in [n for n in sys.modules if n.partition(".")[0] == "torch"]:
                del sys.modules[name]

    def __enter__(self) -> ModuleType:
        return sys.modules["torch"]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.undo()


__all__ = ["as_torch"]
