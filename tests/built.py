"""What tests of extension modules share: how to build one, a Python that has nothing of ours, a module of all kinds.

Where there is no C compiler there is no module: `made` checks the refusal instead.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pullback import hvp
from pullback.compiler.backend.linking.linker import LINKERS
from pullback.runtime.compiled.build import build
from pullback.runtime.transforms import grad, jit, value_and_grad

LINKER = next(filter(None, map(shutil.which, LINKERS)), None)
PRELUDE = """
import sys, array
sys.path.append({folder!r})
def raised(call):
    try:
        result = call()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
    return "returned " + repr(result)
def absent(*names):
    return not set(names) & {{name.partition(".")[0] for name in sys.modules}}
"""


def alone(folder: Path, script: str, numpy: bool = False) -> str:
    """The output of a Python of its own, with the standard library, this folder and perhaps NumPy."""
    extra = f"sys.path.append({str(Path(np.__file__).parents[1])!r})\n" if numpy else ""
    text = PRELUDE.format(folder=str(folder)) + extra + textwrap.dedent(script)
    text += "\nassert absent('pullback', 'llvmlite')\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "faulthandler", "-c", text], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def made(folder: Path, *args: Any, **options: Any) -> Path | None:
    """The module that `build` writes; where there is no linker, None after its refusal."""
    if LINKER:
        return build(*args, out=folder, **options)
    with pytest.raises(FileNotFoundError, match="apt install gcc"):
        build(*args, out=folder, **options)
    return None


def slope(x):
    return x * np.sin(x)


def fit(p, x, k, mode):
    """A fit."""
    h = np.tanh(x @ p["w"] + p["b"][0])
    h = h * k if mode == "scaled" else h
    return np.sum(h * h)


def pick(x, i):
    return x[i] * 2


class Pair(NamedTuple):
    low: Any
    high: Any


def many(pair, row, flag, n):
    total = pair.low + pair.high
    return {
        "total": [total, (np.float64(1.5) * total,)],
        "flag": np.logical_not(flag),
        "n": n + 1,
        "more": Pair(row[0], None),
    }


W = np.linspace(-1, 1, 6).reshape(3, 2)
FIT = ({"w": W, "b": [np.array([0.25, -0.5])]}, np.linspace(0, 2, 12).reshape(4, 3), 2.0, "scaled")
MANY = (Pair(np.float64(1.0), np.float32(2.0)), [np.arange(3, dtype=np.int32)], np.array([True, False]), 4)
X = np.array([1.0, 4.0, 9.0])
SHIFT = np.array([0.5, -1.5, 2.5])


def shifted(x):
    return np.sum(x * SHIFT)


def wide(x):
    return np.sum(np.tanh(x) * x)


def ints(n, v):
    return v + n


FUNCTIONS = {
    "slope": grad(slope),
    "fit": value_and_grad(fit),
    "pick": jit(pick),
    "many": many,
    "shifted": value_and_grad(shifted),
    "curve": hvp(wide),
    "wide": value_and_grad(wide),
    "ints": ints,
}
EXAMPLES = {
    "slope": (1.0,),
    "fit": FIT,
    "pick": (X, 1),
    "many": MANY,
    "shifted": (X,),
    "curve": (X, X),
    "wide": (np.ones(3000),),
    "ints": (1, np.arange(4).reshape(2, 2)),
}


@functools.cache
def kernels() -> Path | None:
    """The folder of a module `kernels` with all these functions."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder) if made(Path(folder), FUNCTIONS, EXAMPLES, name="kernels") else None


FIT_TEXT = """
x = memoryview(array.array("d", {x})).cast("B").cast("d", (4, 3))
w = memoryview(array.array("d", {w})).cast("B").cast("d", (3, 2))
p = {{"b": [array.array("d", [0.25, -0.5])], "w": w}}
"""


def fit_text() -> str:
    return FIT_TEXT.format(w=W.ravel().tolist(), x=FIT[1].ravel().tolist())
