"""The kinds of random programs: how one is made of its number, and what is said about its text."""

from __future__ import annotations

import importlib
import signal
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import pullback
from pullback.compiler.settings import settings
from tests.control.programs import Writer, loaded
from tests.control.verdicts import examine as examine_control
from tests.fuzz import tensors, variants
from tests.fuzz.choices import Choices
from tests.fuzz.compositions import examine
from tests.fuzz.nests import program
from tests.fuzz.shrink import shrunk

PATIENCE = 60
"""Seconds after which a program counts as wrong."""

SMALLER = 120.0
"""Seconds for making a wrong program small."""


def too_slow(*_: object) -> None:
    raise TimeoutError(f"more than {PATIENCE} s")


def judged(examined: Callable[[], str]) -> str:
    """The verdict; a difference or a crash is text that begins with WRONG."""
    before = signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return examined()
    except Exception as error:
        return f"WRONG {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def manner(verdict: str) -> str:
    """The part of a verdict that stays the same while a program shrinks: no numbers, no names."""
    if verdict.startswith("WRONG Difference") and ": at " in verdict:
        return verdict.split(": at ")[0]
    for mark in "[(%":
        verdict = verdict.split(mark)[0]
    return verdict[:70]


def run_compositions(number: int, small: bool = False, reference: bool = True) -> tuple[str, str]:
    """The verdict on a program, and a small one that is wrong in the same way."""
    made = program(Choices(number), small)
    verdict = judged(lambda: examine(made, reference))
    if not verdict.startswith("WRONG"):
        return verdict, ""
    wanted = manner(verdict)
    for call in made.calls:
        one = replace(made, calls=[call])
        if manner(judged(lambda one=one: examine(one))) == wanted:
            made = one
            break
    fails = lambda source: manner(judged(lambda: examine(replace(made, source=source)))) == wanted  # noqa: E731
    return verdict, replace(made, source=shrunk(made.source, fails, SMALLER)).text()


def run_control(number: int) -> tuple[str, str]:
    source = Writer(Random(number), rich=number % 2 == 1).program()
    versions = iter(range(1_000_000))
    with tempfile.TemporaryDirectory() as folder, settings.override(reference=number % 3 == 0, cache=False):

        def verdict(text: str) -> str:
            name = f"program_{number}_{next(versions)}"
            return judged(lambda: examine_control(loaded(text, Path(folder), name), number))

        found = verdict(source)
        if not found.startswith("WRONG"):
            return found, ""
        wanted = manner(found)
        return found, shrunk(source, lambda text: manner(verdict(text)) == wanted, SMALLER)


def run_tensors(number: int) -> tuple[str, str]:
    torch: Any = importlib.import_module("torch")
    text = tensors.source(number)
    found = judged(lambda: tensors.examine(pullback, torch, text))
    if not found.startswith("WRONG"):
        return found, ""
    wanted = manner(found)
    small = shrunk(text, lambda t: manner(judged(lambda: tensors.examine(pullback, torch, t))) == wanted, SMALLER)
    return found, small + "\n# " + judged(lambda: tensors.examine(pullback, torch, small))


def run_variants(number: int) -> tuple[str, str]:
    made = variants.variant(number)
    found = judged(lambda: variants.examine(made))
    return found, made.text() if found.startswith("WRONG") else ""


KINDS: dict[str, Any] = {
    "compositions": run_compositions, "control": run_control, "tensors": run_tensors, "variants": run_variants,
}  # fmt: skip


def run(kind: str, number: int) -> tuple[str, str]:
    return KINDS[kind](number)
