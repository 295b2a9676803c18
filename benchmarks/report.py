"""What a run says: lines while it goes on, and the table of the page from the JSON that it kept."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import native

PAGE = Path(__file__).resolve().parent / "README.md"
BEGIN, END = "<!-- table: run.py --write -->", "<!-- end of table -->"

COLUMNS = ("pullback", "NumPy", "torch", "jax", "C")

Record = dict[str, Any]


def header(threads: int, size: str, busy: bool) -> Record:
    """Where and when a run took place."""
    packages = ("numpy", "llvmlite", "torch", "jax", "scipy")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version for name in packages if (version := _version(name))},
        "cc": _compiler(),
        "threads": threads,
        "size": size,
        "clock": "processor" if busy else "elapsed",
        "cases": [],
    }


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _compiler() -> str:
    path = native.compiler()
    if path is None:
        return ""
    done = subprocess.run([path, "--version"], capture_output=True, text=True)
    return (done.stdout.splitlines() or [""])[0]


def title(run: Record) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in run["packages"].items())
    threads = "one thread each" if run["threads"] == 1 else f"{run['threads']} threads each"
    clock = ", processor time but for threads and cold starts" if run["clock"] == "processor" else ""
    return (
        f"{run['date']}: {run['processors']} processors ({run['processor']}), CPython {run['python']}, {packages},"
        f" {run['cc'] or 'no C compiler'}; {threads}{clock}"
    )


def ratio(record: Record, against: str) -> float | None:
    """How many times our time a way takes, or the best of the others; None if it wasn't measured."""
    times, ours = record["times"], _ours(record)
    if ours not in times:
        return None
    others = {n: t["ratio"] for n, t in times.items() if n.partition(",")[0].partition(" (")[0] != "pullback"}
    if against == "best":
        return min(others.values(), default=None)
    return times[against]["ratio"] if against in times else None


def _ours(record: Record) -> str:
    """The way of ours that is compared: the only one, or that with two threads."""
    return "pullback, 2 threads" if "pullback, 2 threads" in {*record["times"], *record["fails"]} else "pullback"


def verdicts(record: Record) -> list[tuple[str, float | None, float, bool]]:
    """Of every goal: against what, what was reached, what was wanted, and whether that is enough."""
    out = []
    for against, wanted in record["goals"]:
        if against == "at most":
            ours = record["times"].get(_ours(record))
            got = ours["median"] * record["scale"] if ours else None
            out.append((against, got, wanted, got is not None and got <= wanted))
        else:
            got = ratio(record, against)
            out.append((against, got, wanted, got is not None and got >= wanted))
    return out


def serious(failure: tuple[str, str]) -> bool:
    """Whether a failure is a defect of ours or of the comparison, not a peer's lack of something."""
    name, message = failure
    return name.startswith("pullback") or message.startswith("disagrees")


def lines(record: Record) -> list[str]:
    """A case as text: every way's median, how many times ours it takes, and the goals."""
    out = [record["name"]]
    for name, times in record["times"].items():
        relative = "" if times["ratio"] is None else f"{times['ratio']:9.2f} x"
        rate = "".join(_rate(record, times["median"]))
        busy = times["busy"]
        waited = "" if busy is None or 0.9 < busy < 1.1 else f"  (busy {busy:.0%})"
        faults = "" if (times["faults"] or 0) < 1 else f"  ({times['faults']:,.0f} page faults)"
        figure = f"{times['median'] * record['scale']:>12.3f} {record['unit']:<15}"
        out.append(f"    {name:<30}{figure}{relative}{rate}{waited}{faults}")
    out += [f"    {name:<30} fails: {message.splitlines()[0][:300]}" for name, message in record["fails"].items()]
    for against, got, wanted, met in verdicts(record):
        if got is not None or against == "at most":
            text = f"at most {wanted:g} {record['unit']}" if against == "at most" else f"{wanted:.3g} x {against}"
            out.append(f"    goal {text}: {'met' if met else 'MISSED'}")
    return out


def _rate(record: Record, seconds: float) -> list[str]:
    """Bytes and operations a second, where they are counted."""
    out = []
    if record["moved"]:
        out.append(f"{record['moved'] / seconds / 1e9:9.1f} GB/s")
    if record["flops"]:
        out.append(f"{record['flops'] / seconds / 1e9:9.1f} Gflop/s")
    return out


def table(run: Record) -> str:
    """The run as a table in Markdown."""
    out = [f"{title(run)}. Medians; in brackets how many times ours.", ""]
    out += ["| case | unit | " + " | ".join(COLUMNS) + " | goals |", "|---|---|" + "---:|" * len(COLUMNS) + "---|"]
    for record in run["cases"]:
        cells = [_cell(record, name) for name in COLUMNS]
        goals = "; ".join(_goal(*each, record["unit"]) for each in verdicts(record))
        out.append(f"| {record['name']} | {record['unit']} | {' | '.join(cells)} | {goals} |")
        for name in record["times"]:
            if name not in COLUMNS:
                cells = [_cell(record, name) if name.startswith(c) else "" for c in COLUMNS]
                cells = cells if any(cells) else ["", _cell(record, name), "", "", ""]
                out.append(f"| – {name} | {record['unit']} | {' | '.join(cells)} | |")
    return "\n".join(out)


def _cell(record: Record, name: str) -> str:
    if name in record["fails"]:
        return "fails"
    if name not in record["times"]:
        return ""
    times = record["times"][name]
    text = three_digits(times["median"] * record["scale"])
    return text if times["ratio"] is None or name == _ours(record) else f"{text} ({three_digits(times['ratio'])})"


def _goal(against: str, got: float | None, wanted: float, met: bool, unit: str) -> str:
    if against == "at most":
        return f"<= {wanted:g} {unit}: {'met' if met else '**missed**'}"
    if got is None:
        return f"{wanted:.3g} x {against}: not measured"
    return f"{wanted:.3g} x {against}: {'met' if met else f'**{got:.2f}**'}"


def three_digits(x: float) -> str:
    """A number with three significant digits, without an exponent."""
    if x == 0 or not math.isfinite(x):
        return str(x)
    return f"{x:,.{max(0, 2 - math.floor(math.log10(abs(x))))}f}"


def write(text: str) -> None:
    """Put a table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
