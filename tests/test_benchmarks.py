"""The benchmarks at tiny sizes: every case can be made, and what it times is right. Without torch, jax and C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
WAYS = "pullback,NumPy,copying,Python"

sys.path.append(str(FOLDER))
try:
    import harness
    import report
    from cases import FAMILIES
finally:
    sys.path.remove(str(FOLDER))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    environment = {**os.environ, "CC": "there-is-no-such-compiler"}
    return subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a tiny run of all families has kept."""
    path = tmp_path_factory.mktemp("benchmarks") / "tiny.json"
    done = run("--tiny", "--ways", WAYS, "--json", str(path))
    assert path.exists(), done.stderr
    return {"output": done.stdout + done.stderr, **json.loads(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_case_runs_and_agrees(family: str, kept: dict[str, Any]) -> None:
    cases = [case for case in kept["cases"] if case["family"] == family]
    assert cases, kept["output"]
    for case in cases:
        assert not case["fails"], case["name"]
        assert any(name.startswith("pullback") for name in case["times"])
        assert all(0 < times["least"] <= times["median"] for times in case["times"].values())


def test_a_run_becomes_a_table(kept: dict[str, Any]) -> None:
    text = report.table(kept)
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1
    assert all(case["name"] in text for case in kept["cases"])


def test_the_page_has_a_place_for_the_table() -> None:
    page = report.PAGE.read_text(encoding="utf-8")
    assert page.count(report.BEGIN) == page.count(report.END) == 1
    assert page.index(report.BEGIN) < page.index(report.END)


def test_an_unknown_family_is_refused() -> None:
    done = run("elementwise", "nonsense")
    assert done.returncode == 2 and "no family called nonsense" in done.stderr


def test_wrong_results_are_noticed() -> None:
    case = harness.Case("three", {"pullback": lambda: (3.0, [1.0, 2.0]), "NumPy": lambda: (3.0, [1.0, 2.1])})
    case.run(harness.Plan("tiny", 1, 0.0))
    assert list(case.times) == ["NumPy"]
    assert case.fails["pullback"].startswith("disagrees with NumPy: result 2")
    assert report.serious(("pullback", case.fails["pullback"]))
    assert report.serious(("torch", "disagrees with NumPy: ...")) and not report.serious(("torch", "ImportError: ..."))


@pytest.mark.parametrize(
    ("got", "wanted", "problem"),
    [
        ([1.0, 2.0], [1.0, 2.0], ""),
        ([1.0, 2.0 + 1e-10], [1.0, 2.0], ""),
        ([1.0, 2.0 + 1e-7], [1.0, 2.0], "off by"),
        ([1.0, float("nan")], [1.0, 2.0], "finite"),
        ([1.0], [1.0, 2.0], "shapes"),
    ],
)
def test_differences(got: list[float], wanted: list[float], problem: str) -> None:
    found = harness.difference(harness.leaves([got]), harness.leaves([wanted]), 1e-9)
    assert (problem in found) if problem else not found


def test_a_way_that_fails_does_not_stop_the_others() -> None:
    def fails() -> float:
        raise ValueError("not yet")

    case = harness.Case("one", {"pullback": fails, "NumPy": lambda: 1.0}, goals=(("NumPy", 1.0),))
    case.run(harness.Plan("tiny", 1, 0.0))
    assert case.fails == {"pullback": "ValueError: not yet"}
    record = case.record()
    assert record["times"]["NumPy"]["ratio"] is None
    assert any("fails: ValueError: not yet" in line for line in report.lines(record))
    assert report.verdicts(record) == [("NumPy", None, 1.0, False)]


def test_goals() -> None:
    seconds = {"pullback": 2.0, "C": 3.0}
    times = {name: {"median": t, "least": t, "ratio": t / 2.0} for name, t in seconds.items()}
    record = {"times": times, "fails": {}, "scale": 1e3, "goals": [("C", 1.5), ("best", 1.6), ("at most", 1999.0)]}
    assert [met for *_, met in report.verdicts(record)] == [True, False, False]
