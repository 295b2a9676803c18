"""Plant each fault of faults.py by itself into a copy of the tree, and run the tests that are to find it.

    python tests/tools/mutants.py               all of them, one after the other
    python tests/tools/mutants.py 3 17          some, by number

Prints a line for each: found, or SURVIVES, and ends with 1 if one survives. First all these tests run without a fault.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.tools.faults import FAULTS, Fault  # noqa: E402

PATIENCE = 600
"""Seconds after which the tests of a fault have failed: it may be a loop without an end."""

COPIED = ("compiler", "runtime", "tests", "examples", "benchmarks", "pyproject.toml", "README.md", "DECISIONS.md")


def copied(folder: Path) -> Path:
    """A copy of the tree, in which `path` is where Python finds its packages."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, folder / name)
    package = folder / "path" / "pullback"
    package.mkdir(parents=True)
    for each in (folder / "runtime" / "pullback").iterdir():
        (package / each.name).symlink_to(each)
    (package / "compiler").symlink_to(folder / "compiler")
    (package / "runtime").symlink_to(folder / "runtime")
    return folder


def failing(folder: Path, tests: str, patience: float | None = PATIENCE) -> str:
    """The first test that fails; an empty text if none does."""
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'path'}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", *shlex.split(tests)]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else f"ended with {done.returncode}"


def found(folder: Path, fault: Fault) -> str:
    path = folder / fault.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(fault.old, fault.new), encoding="utf-8")
    try:
        return failing(folder, fault.tests)
    finally:
        path.write_text(whole, encoding="utf-8")


def main() -> int:
    numbers = [int(each) for each in sys.argv[1:]] or range(len(FAULTS))
    survived = 0
    with tempfile.TemporaryDirectory() as name:
        folder = copied(Path(name))
        named = {each for k in numbers for each in FAULTS[k].tests.split() if each.startswith("tests/")}
        if by := failing(folder, " ".join(sorted(named)), patience=None):
            print(f"without a fault, too: {by}")
            return 1
        for k in numbers:
            start = time.monotonic()
            by = found(folder, FAULTS[k])
            survived += not by
            print(f"{k:3d} {FAULTS[k].file:36s} {time.monotonic() - start:5.0f} s  {by or 'SURVIVES'}", flush=True)
    print(f"{len(numbers) - survived} of {len(numbers)} faults are found")
    return min(survived, 1)


if __name__ == "__main__":
    sys.exit(main())
