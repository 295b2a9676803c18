"""Run the benchmarks: `python benchmarks/run.py [--full] [--json FILE] [--threads 1|2] [family ...]`.

`--table FILE` measures nothing and prints the table of a run that was kept with --json; `--write FILE` puts it into
README.md beside this file. Ends with 1 if somebody's results are wrong, or a way of ours fails.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys

import peers
from cases import FAMILIES


def main() -> int:
    given = arguments()
    peers.use_threads(given.threads)
    peers.use_only(given.ways.split(",") if given.ways else peers.NAMES)
    report = importlib.import_module("report")
    if given.table or given.write:
        with open(given.table or given.write, encoding="utf-8") as file:
            kept = json.load(file)
        (report.write if given.write else print)(report.table(kept))
        return 0
    return measure(given)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="pullback beside NumPy, torch, jax and C")
    parser.add_argument("families", nargs="*", help=f"which: {', '.join(FAMILIES)} (all if none is given)")
    parser.add_argument("--full", action="store_true", help="more rounds, and the longest cases")
    parser.add_argument("--tiny", action="store_true", help="sizes and times for a test; figures mean nothing")
    parser.add_argument("--threads", type=int, default=1, choices=(1, 2), help="threads that every way gets")
    parser.add_argument("--ways", help=f"measure only these, separated by commas: {', '.join(peers.NAMES)}")
    parser.add_argument("--busy", action="store_true", help="count processor time: for a machine that others use")
    parser.add_argument("--json", help="keep the figures in this file")
    parser.add_argument("--table", metavar="FILE", help="print the table of such a file")
    parser.add_argument("--write", metavar="FILE", help="put the table of such a file into README.md")
    given = parser.parse_args()
    if unknown := set(given.families) - set(FAMILIES):
        parser.error(f"no family called {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    if unknown := set(filter(None, (given.ways or "").split(","))) - set(peers.NAMES):
        parser.error(f"no way called {', '.join(sorted(unknown))}; there are {', '.join(peers.NAMES)}")
    if given.busy and given.threads > 1:
        parser.error("--busy adds up the time of all threads, so it says nothing about --threads 2")
    return given


def measure(given: argparse.Namespace) -> int:
    """Run the families; NumPy and what builds on it are loaded here, once the number of threads is settled."""
    cases, harness, report = (importlib.import_module(name) for name in ("cases", "harness", "report"))
    size = "tiny" if given.tiny else "full" if given.full else "quick"
    rounds, slot = {"tiny": (1, 0.0), "quick": (9, 0.02), "full": (25, 0.03)}[size]
    kept = report.header(given.threads, size, given.busy)
    print(report.title(kept), "\n", flush=True)
    for name in given.families or FAMILIES:
        for case in cases.family(name, size):
            case.run(harness.Plan(size, rounds, slot, given.busy))
            record = {"family": name, **case.record()}
            kept["cases"].append(record)
            print("\n".join(report.lines(record)), "\n", flush=True)
            if given.json:
                with open(given.json, "w", encoding="utf-8") as out:
                    json.dump(kept, out, indent=1, ensure_ascii=False)
    failed = [case["name"] for case in kept["cases"] if any(map(report.serious, case["fails"].items()))]
    if failed:
        print("failed:", "; ".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
