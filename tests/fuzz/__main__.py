"""Thousands of random programs, in processes that may die, and what is wrong with them made small.

    python -m tests.fuzz compositions 20000 0       programs number 0 to 19999 of NumPy code under nests of transforms
    python -m tests.fuzz control 2000 0             of control flow, effects and exceptions
    python -m tests.fuzz tensors 10000 0            of Tensors, against torch
    python -m tests.fuzz variants 5000 0            calls of NumPy's and SciPy's functions with options, against NumPy

Ends with 1 if one was wrong. Each is told with its number, made small, as a file that can be run.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from tests.fuzz.kinds import KINDS, run

CHUNK = 250
"""Programs that one process runs: what is compiled for them goes with it."""

PATIENCE = 400.0
"""Seconds without a word after which a process is ended, and its program is wrong; making small takes some."""


class Worker:
    """A process that runs some of the programs."""

    def __init__(self, kind: str, numbers: range) -> None:
        self.kind, self.numbers, self.at = kind, numbers, numbers.start
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.fuzz",
            "worker",
            kind,
            str(numbers.start),
            str(numbers.stop),
        ]
        settings = {"PULLBACK_CACHE": "0", "PULLBACK_BACKGROUND": "0", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **settings}
        )
        self.heard = time.monotonic()

    def line(self) -> dict[str, Any] | None:
        """What it says next; None where it has come to its end, or died."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        self.heard = time.monotonic()
        return json.loads(text) if text else None

    def rest(self) -> tuple[str, range]:
        """How it ended, and what is left to do."""
        self.process.kill()
        status = self.process.wait()
        if self.at == self.numbers.stop:
            return "", range(0)
        return f"WRONG the process ended with {status}", range(self.at + 1, self.numbers.stop)


class Tally:
    """What became of the programs."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong, self.begun = 0, time.monotonic()

    def add(self, number: int, verdict: str, text: str) -> None:
        self.counts[verdict.split(": {")[0][:100].split("\n")[0] if not verdict.startswith("WRONG") else "WRONG"] += 1
        if verdict.startswith("WRONG"):
            self.wrong += 1
            print(f"--- program {number}: {verdict[:1500]}\n{text}", flush=True)
        if (total := self.counts.total()) % 1000 == 0:
            print(f"{total} programs, {self.wrong} wrong, {time.monotonic() - self.begun:.0f} s", flush=True)


def all_of(kind: str, numbers: range, jobs: int) -> int:
    """Run the programs with so many of these numbers; how many were wrong."""
    tally, pending = (
        Tally(),
        [range(k, min(k + CHUNK, numbers.stop)) for k in range(numbers.start, numbers.stop, CHUNK)],
    )
    selector, pending = selectors.DefaultSelector(), pending[::-1]
    workers: set[Worker] = set()
    while pending or workers:
        while pending and len(workers) < jobs:
            worker = Worker(kind, pending.pop())
            workers.add(worker)
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        ready = {key.data for key, _ in selector.select(timeout=5.0)}
        for worker in list(workers):
            said = worker.line() if worker in ready else {}
            if said:
                worker.at = said["number"] + 1
                tally.add(said["number"], said["verdict"], said["text"])
            elif said is None or time.monotonic() - worker.heard > PATIENCE:
                selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
                workers.remove(worker)
                verdict, left = worker.rest()
                if verdict:
                    tally.add(worker.at, verdict, "")
                if left:
                    pending.append(left)
    for verdict, count in tally.counts.most_common(60):
        print(f"{count:7d} {verdict}")
    return tally.wrong


def main() -> int:
    if sys.argv[1:2] == ["worker"]:
        for number in range(*map(int, sys.argv[3:5])):
            verdict, text = run(sys.argv[2], number)
            print(json.dumps({"number": number, "verdict": verdict, "text": text}), flush=True)
        return 0
    if len(sys.argv) < 4 or sys.argv[1] not in KINDS:
        print(__doc__)
        return 2
    count, seed = int(sys.argv[2]), int(sys.argv[3])
    jobs = int(sys.argv[4]) if len(sys.argv) > 4 else os.cpu_count() or 1
    return min(1, all_of(sys.argv[1], range(seed, seed + count), jobs))


if __name__ == "__main__":
    sys.exit(main())
