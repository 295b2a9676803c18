"""The C versions: compiled with `cc -O3 -march=native -ffast-math` into a temporary folder, called with ctypes."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peers

FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
"""Under -ffast-math gcc calls the vectors of libmvec for exp, log, tanh and the like."""

MOST = 14
"""Arguments that `repeat` hands on."""


class Kernel:
    """A way in C: takes integers and arrays, leaves results in the arrays `out`; gives what is returned and those."""

    def __init__(self, name: str, given: Sequence[int | np.ndarray], out: Sequence[np.ndarray], returns: Any) -> None:
        self.given, self.out = tuple(given), tuple(out)
        self._function = getattr(_library(name), name)
        self._function.restype = returns
        self._repeat = _library("repeat").repeat
        self._words = (ctypes.c_long * MOST)(*map(_word, (*given, *out)))

    def __call__(self) -> Any:
        return self._into(self.out)

    def fresh(self) -> Any:
        """The same, with results in new arrays."""
        return self._into([np.empty_like(a) for a in self.out])

    def repeat(self, count: int) -> None:
        self._repeat(ctypes.c_long(count), self._function, self._words)

    def _into(self, out: Sequence[np.ndarray]) -> Any:
        value = self._function(*(ctypes.c_long(_word(a)) for a in (*self.given, *out)))
        return list(out) if self._function.restype is None else (value, *out)


def _word(value: int | np.ndarray) -> int:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data
    return int(value)


def kernel(name: str, *given: Any, out: Sequence[np.ndarray], returns: Any = ctypes.c_double) -> Kernel | None:
    """The function `name` of c/`name`.c with its arguments; None without a C compiler, or if C is left out."""
    if not peers.wanted("C") or compiler() is None:
        return None
    return Kernel(name, given, out, returns)


def compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which(os.environ.get("CC") or "cc")


@functools.cache
def _folder() -> str:
    name = tempfile.mkdtemp(prefix="pullback-benchmarks-")
    atexit.register(shutil.rmtree, name, ignore_errors=True)
    return name


@functools.cache
def _library(name: str) -> ctypes.CDLL:
    source = Path(__file__).resolve().parent / "c" / f"{name}.c"
    made = os.path.join(_folder(), f"{name}.so")
    command = [str(compiler()), *FLAGS, str(source), "-o", made]
    done = subprocess.run([*command, "-lmvec", "-lm"], capture_output=True, text=True)
    if done.returncode:
        done = subprocess.run([*command, "-lm"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return ctypes.CDLL(made)
