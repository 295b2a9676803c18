"""Steps of training in the middle of which signals come or memory is refused, drawn at random.

    python tests/tools/fuzz_faults.py --count 2000 --seed 1

Each failure that leaves something wrong is printed with what brings it back.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.faults import KINDS, OPTIMISERS, NoMemory, Signal, places, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many steps fail")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, bad = random.Random(given.seed), 0
    counts: dict[tuple[str, str, int], int] = {}
    for _ in range(given.count):
        case = draw.choice(KINDS), draw.choice([*OPTIMISERS]), draw.choice([0, 1, 2, 3, 5])
        if case not in counts:
            counts[case] = places(*case)
        refuses = draw.random() < 0.3
        fault = NoMemory(draw.randrange(1, 300)) if refuses else Signal(draw.randrange(1, counts[case] + 1))
        found = wrong(*case, fault)
        if found:
            bad += 1
            print(found, flush=True)
    print(f"{given.count} steps failed, after {bad} of them something was wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
