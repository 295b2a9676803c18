"""Run the benchmarks and print medians and ratios: `python benchmarks/run.py [--json FILE] [name ...]`.

Names are those of `cases.ALL`.  torch and jax are measured beside pullback where they are installed.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys

from cases import ALL


def main() -> None:
    parser = argparse.ArgumentParser(description="pullback beside NumPy, torch and jax, one thread")
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(ALL)} (all if none is given)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each way (default 15)")
    parser.add_argument("--slot", type=float, default=0.02, help="seconds a turn (default 0.02)")
    parser.add_argument("--json", help="also write the figures to this file")
    given = parser.parse_args()
    unknown = set(given.names) - set(ALL)
    if unknown:
        parser.error(f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    print(f"Python {platform.python_version()}, {platform.machine()}, medians of {given.rounds} interleaved turns\n")
    rows = []
    for name in given.names or ALL:
        for case in ALL[name]():
            case.run(given.rounds, given.slot)
            print("\n".join(case.lines()), "\n", flush=True)
            rows.append({"case": case.name, "unit": case.unit, "goal": case.goal, "figures": case.figures})
    if given.json:
        with open(given.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
