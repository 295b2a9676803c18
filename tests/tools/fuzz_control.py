"""Thousands of random structured programs, beside the few of the tests.

    python tests/tools/fuzz_control.py 0 2000                     programs number 0 to 1999, compiled
    python tests/tools/fuzz_control.py 0 2000 reference           under the reference executor
    python tests/tools/fuzz_control.py 0 2000 native rich         with matrices, lists, dicts and more ways to loop
    python tests/tools/fuzz_control.py 17 18 native shrink        one of them; lines are left out while it still fails

Prints every program's number and difference, then how many ended how. Ends with 1 if one differed.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pullback.compiler.settings import settings
from tests.control.programs import Writer, loaded
from tests.control.verdicts import examine

PATIENCE = 20
"""Seconds after which a program counts as wrong."""


ALIKE = 50
"""Characters of a difference that stay the same while its program shrinks."""


def too_slow(*_: object) -> None:
    raise TimeoutError(f"more than {PATIENCE} s")


def verdict(source: str, folder: Path, number: int, version: int = 0) -> str:
    """What becomes of a program; a difference or a crash is text that says so."""
    signal.alarm(PATIENCE)
    try:
        return examine(loaded(source, folder, f"program_{number}_{version}"), number)
    except Exception as error:
        return f"WRONG {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def shrunk(source: str, folder: Path, number: int) -> str:
    """The program with lines left out while it is wrong in the same way."""
    wanted = verdict(source, folder, number)[:ALIKE]
    lines, version, width = source.split("\n"), 0, 8
    while width:
        start = 0
        while start < len(lines):
            shorter = lines[:start] + lines[start + width :]
            version += 1
            if verdict("\n".join(shorter), folder, number, version)[:ALIKE] == wanted:
                lines = shorter
            else:
                start += 1
        width //= 2
    return "\n".join(lines)


def main() -> int:
    signal.signal(signal.SIGALRM, too_slow)
    first, last = int(sys.argv[1]), int(sys.argv[2])
    counts: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        np.errstate(all="ignore"),
        settings.override(reference="reference" in sys.argv, cache=False),
    ):
        for number in range(first, last):
            source = Writer(Random(number), "rich" in sys.argv).program()
            found = verdict(source, Path(folder), number)
            counts[found.split(": ")[0] if found.startswith("WRONG") else found[:70]] += 1
            if found.startswith("WRONG"):
                print(number, found, flush=True)
                if "shrink" in sys.argv:
                    print(shrunk(source, Path(folder), number))
    for found, count in counts.most_common():
        print(f"{count:6d} {found}")
    return any(found.startswith("WRONG") for found in counts)


if __name__ == "__main__":
    sys.exit(main())
