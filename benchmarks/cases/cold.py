"""From a new function to its first gradient, each time in a new process: one that has compiled something else before,

or one that finds its code on disk; of this all is counted, from the start of Python and the imports on.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peers
from harness import Case

from cases import transformer

CHILD = Path(__file__).resolve().parent.parent / "child.py"
GOALS = {"ten": 8.0, "mixture": 40.0, "transformer": 400.0}
TITLES = {"ten": "a ten-op function", "mixture": "the mixture", "transformer": "the transformer block"}


def in_a_process(name: str, way: str, limit: float, *more: str, **variables: str) -> Callable[[], Any]:
    """A way that gives the seconds until the first gradient and what can be compared of it."""
    return told_by(CHILD, name, way, *more, limit=limit, **variables)


def told_by(script: Path, *words: str, limit: float = 120.0, **variables: str) -> Callable[[], Any]:
    """A way that gives the seconds and the results that a script prints."""

    def run():
        command = [sys.executable, str(script), *words]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | variables
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no result after {limit:g} s") from None
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1])
        return json.loads(done.stdout)

    return run


def case(name: str, title: str, goals: tuple, limit: float, agree: float, with_jax: bool = True) -> Case:
    """Without a cache on disk, and with one that the first process has filled."""
    ways = {"pullback": in_a_process(name, "pullback", limit, PULLBACK_CACHE="0")}
    folder = tempfile.mkdtemp(prefix="pullback-benchmarks-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ways["pullback, cached"] = in_a_process(name, "pullback", limit, PULLBACK_CACHE_DIR=folder)
    if with_jax and peers.jax():
        ways["jax"] = in_a_process(name, "jax", limit)
    return Case(title, ways, "ms", 1e3, goals, agree, seconds=True)


START = """
import json, sys, time
import numpy as np
{functions}
given = problem(*{size})
if sys.argv[1] == "jax":
    import jax
    import jax.numpy as np
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    result = jax.block_until_ready(jax.jit(jax.grad(loss, (0, 1)))(*jax.tree.map(np.asarray, given)))
else:
    import pullback
    result = pullback.grad(loss, (0, 1))(*given)
sums = [float(np.sum(np.abs(each))) for each in (*(result[0][name] for name in sorted(result[0])), result[1])]
print(json.dumps((time.process_time(), sums)))
"""


def second_process(size: str) -> Case:
    """A script of a transformer's block, whose code is on disk already; processor time of all of it."""
    given = (2, 8, 16) if size == "tiny" else (8, 64, 128)
    named = f"HEADS, SLOPE = {transformer.HEADS}, {transformer.SLOPE}"
    parts = [inspect.getsource(each) for each in (*transformer.FUNCTIONS, transformer.problem)]
    text = START.format(functions="\n\n".join([named, *parts]), size=given)
    folder = Path(tempfile.mkdtemp(prefix="pullback-benchmarks-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "script.py").write_text(text)
    kept = {"PULLBACK_CACHE_DIR": str(folder / "code"), "JAX_COMPILATION_CACHE_DIR": str(folder / "jax")}

    def way(name: str) -> Callable[[], Any]:
        return told_by(folder / "script.py", name, limit=120.0, **kept)

    ways = {name: way(name) for name in ("pullback", *(["jax"] if peers.jax() else []))}
    for each in ways.values():
        each()
    return Case("a second process of the transformer block", ways, "ms", 1e3, (("at most", 300.0),), 1e-3, seconds=True)


def cases(size: str) -> Iterator[Case]:
    for name in ("ten",) if size == "tiny" else GOALS:
        goals = (("at most", GOALS[name]), ("jax", 4.0))
        agree = 1e-3 if name == "transformer" else 1e-8
        yield case(name, f"cold grad of {TITLES[name]}", goals, 120.0, agree)
    yield second_process(size)
