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

from .version import TORCH, TorchVersion

OURS = __name__.partition(".")[0]


class Torch(ModuleType):
    """The module `torch` while pullback stands in for it: all of its names are pullback's."""

    def __init__(self) -> None:
        super().__init__("torch", sys.modules[OURS].__doc__)
        self.__version__ = TorchVersion(f"{TORCH}+{OURS}")
        self.__path__ = list(sys.modules[OURS].__path__)
        self.__file__ = sys.modules[OURS].__file__
        self.__spec__ = ModuleSpec("torch", FINDER, origin=self.__file__, is_package=True)

    def __getattr__(self, name: str) -> Any:
        return self if name == "torch" else getattr(sys.modules[OURS], name)

    def __dir__(self) -> list[str]:
        return dir(sys.modules[OURS])


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("torch")` asks, by which packages find out whether torch is there."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(str(sys.modules[OURS].__file__)).parent / path


HANDED_ON = {
    "amp": "autocast_mode grad_scaler",
    "autograd": "anomaly_mode gradcheck",
    "distributions": "cauchy chi2 exp_family fishersnedecor generalized_pareto geometric gumbel half_cauchy half_normal"
    " inverse_gamma kumaraswamy log_normal logistic_normal lowrank_multivariate_normal multinomial negative_binomial"
    " pareto relaxed_bernoulli relaxed_categorical studentT von_mises weibull",
    "nn.parallel": "comm parallel_apply replicate scatter_gather",
    "optim": "sparse_adam",
    "": "_tensor functional",
}
"""Modules that are files of PyTorch's and none of ours, by the package whose names they have."""


class _HandedOn(ModuleType):
    """A module all of whose names are those of the package that it stands in."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules[self.__name__.rpartition(".")[0]], name)


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
        package, _, last = name.partition(".")[2].rpartition(".")
        if last in HANDED_ON.get(package, "").split():
            sys.modules[name] = _HandedOn(name)
            return
        ours = OURS + name.removeprefix("torch")
        try:  # of our package alone, as the prefix says
            sys.modules[name] = importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if error.name != ours:
                raise
            why = f"No module named {name!r}: {OURS} stands in for torch, and has no {ours!r}"
            raise ModuleNotFoundError(why, name=name) from None

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Torch's, if it is asked for."""
        return [_Distribution()] if getattr(context, "name", None) == "torch" else []


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
