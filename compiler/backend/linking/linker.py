"""The C compiler as a linker: calls of another program, apart from `process` so that only building pays for its import.

A port to another system looks here, too.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

LINKERS = ("cc", "gcc", "clang")


Linker = tuple[str, ...]
"""The words of a command line that a C compiler is called by."""


def find_linker() -> Linker:
    """The C compiler that is used to link: one on PATH, or that of the package ziglang if it is installed.

    A FileNotFoundError says what to do where there is none.
    """
    for name in LINKERS:
        found = shutil.which(name)
        if found:
            return (found,)
    if find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise FileNotFoundError(
        f"a module is linked by a C compiler, and there is no {', '.join(LINKERS[:-1])} or {LINKERS[-1]} on PATH: "
        "install one (Debian and Ubuntu: apt install gcc; Fedora: dnf install gcc; Alpine: apk add gcc musl-dev; "
        "without rights of an administrator: pip install ziglang), or write an object file with target=")


def join_objects(linker: Linker, parts: Sequence[Path], made: Path) -> None:
    """One object file of several."""
    _run([*linker, "-r", "-nostdlib", "-o", str(made), *map(str, parts)])


def link_module(linker: Linker, parts: Sequence[Path], made: Path) -> None:
    """An extension module of object files; the interpreter's names stay open until it is imported."""
    # Without the parts for C programs that have constructors, and without pages that separate code from constants.
    options = ["-Wl,-Bsymbolic", "-Wl,--as-needed"]
    options += [] if "ziglang" in linker else ["-Wl,-z,noseparate-code"]  # which zig does not know
    _run([*linker, "-shared", "-s", "-nostartfiles", "-o", str(made), *map(str, parts), *options, "-lm"])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(
            f"linking failed with status {done.returncode}: {' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")
