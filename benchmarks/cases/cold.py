"""From a new function to its first gradient, each time in a new process that has compiled something else before."""

from __future__ import annotations

import atexit
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

CHILD = Path(__file__).resolve().parent.parent / "child.py"
GOALS = {"ten": 8.0, "mixture": 40.0, "transformer": 400.0}
TITLES = {"ten": "a ten-op function", "mixture": "the mixture", "transformer": "the transformer block"}


def in_a_process(name: str, way: str, limit: float, *more: str, **variables: str) -> Callable[[], Any]:
    """A way that gives the seconds until the first gradient and what can be compared of it."""

    def run():
        command = [sys.executable, str(CHILD), name, way, *more]
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


def cases(size: str) -> Iterator[Case]:
    for name in ("ten",) if size == "tiny" else GOALS:
        goals = (("at most", GOALS[name]), ("jax", 4.0))
        agree = 1e-3 if name == "transformer" else 1e-8
        yield case(name, f"cold grad of {TITLES[name]}", goals, 120.0, agree)
