"""torch and jax where they are installed, and how many threads everybody gets.

Thread pools are sized when a library is loaded, so `use_threads` has to be called before NumPy, torch or jax is.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any

NAMES = ("pullback", "NumPy", "SymPy", "SymEngine", "CasADi", "torch", "jax", "C", "copying", "Python")
"""Who is measured; copying and Python are what others are compared with."""

_wanted: set[str] = set(NAMES)


def use_threads(count: int) -> None:
    """Let every library have `count` threads. jaxlib takes what it believes to be the number of processors."""
    for name in ("OMP", "OPENBLAS", "MKL", "PULLBACK"):
        os.environ[f"{name}_NUM_THREADS"] = str(count)
    os.environ["NPROC"] = str(count)


def use_only(names: Collection[str]) -> None:
    """Leave out every way that isn't in `names`."""
    _wanted.intersection_update(names)


def wanted(name: str) -> bool:
    """Whether a way is to be measured; it may be called `C, 2 threads`."""
    return name.partition(",")[0].partition(" (")[0] in _wanted


@functools.cache
def optional(name: str) -> Any:
    """The package, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def torch() -> Any:
    """torch, or None."""
    found = optional("torch") if wanted("torch") else None
    if found is not None:
        found.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return found


def jax() -> Any:
    """jax with float64, or None."""
    found = optional("jax") if wanted("jax") else None
    if found is not None:
        found.config.update("jax_enable_x64", True)
    return found


def with_numpy(function: Callable[..., Any], numpy: Any) -> Callable[..., Any]:
    """The same code with another module for `np`, in the functions of its file that it calls too."""
    names: dict[str, Any] = {}
    for name, value in function.__globals__.items():
        mine = isinstance(value, FunctionType) and value.__module__ == function.__module__
        names[name] = FunctionType(value.__code__, names, name, value.__defaults__) if mine else value
    names["np"] = numpy
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def by_jax(function: Callable[..., Any], *given: Any) -> Callable[[], Any]:
    """A way: a compiled function of jax, with its arguments in jax's arrays, waited for."""
    package = jax()
    arrays = package.tree.map(package.numpy.asarray, given)
    compiled = package.jit(function)
    return lambda: package.block_until_ready(compiled(*arrays))


def lazily(make: Callable[[], Callable[[], Any]]) -> Callable[[], Any]:
    """A way that is made when it is first called, so that what it lacks is an error of its own."""
    made: list[Callable[[], Any]] = []

    def run():
        if not made:
            made.append(make())
        return made[0]()

    return run
