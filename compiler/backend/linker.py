"""The C compiler as a linker: calls of another program, apart from `process` so that only building pays for its import.

A port to another system looks here, too.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

LINKERS = ("cc", "gcc", "clang")


def find_linker() -> str:
    """The C compiler on the path, which is used to link; a FileNotFoundError says what to do where there is none."""
    for name in LINKERS:
        found = shutil.which(name)
        if found:
            return found
    raise FileNotFoundError(
        f"a module is linked by a C compiler, and there is no {', '.join(LINKERS[:-1])} or {LINKERS[-1]} on PATH: "
        "install one (Debian and Ubuntu: apt install gcc; Fedora: dnf install gcc; Alpine: apk add gcc musl-dev)")


def join_objects(linker: str, parts: Sequence[Path], made: Path) -> None:
    """One object file of several."""
    _run([linker, "-r", "-nostdlib", "-o", str(made), *map(str, parts)])


def link_module(linker: str, parts: Sequence[Path], made: Path) -> None:
    """An extension module of object files; the interpreter's names stay open until it is imported."""
    # Without the parts for C programs that have constructors, and without pages that separate code from constants.
    options = ["-Wl,-Bsymbolic", "-Wl,-z,noseparate-code", "-Wl,--as-needed"]
    _run([linker, "-shared", "-s", "-nostartfiles", "-o", str(made), *map(str, parts), *options, "-lm"])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(
            f"linking failed with status {done.returncode}: {' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")
