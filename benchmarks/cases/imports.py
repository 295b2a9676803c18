"""`import pullback` in a new process, beside starting Python and doing nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from harness import Case


def start(code: str) -> Callable[[], list[float]]:
    def run():
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return [time.perf_counter() - begin]

    return run


def cases(size: str) -> Iterator[Case]:
    ways = {
        "pullback": start("import pullback"),
        "pullback, with grad and Tensor": start("import pullback; pullback.grad; pullback.Tensor"),
        "Python": start("pass"),
    }
    yield Case("import in a new process", ways, "ms", 1e3, (("at most", 150),), seconds=True)
