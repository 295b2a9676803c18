"""What is said where something is refused, in goldens to be read as a stranger would: `--bless` writes them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import arguments, graphs, options, tensors, tracing

MODULES = (arguments, graphs, options, tensors, tracing)
SUBJECTS = {module.__name__.rpartition(".")[2]: module.CASES for module in MODULES}
ROOT = str(Path(__file__).resolve().parent.parent)
INTERNAL = re.compile(r"<locals>|\bleaf \d|second tree|object at 0x|__array_|pullback\.runtime|pullback\.compiler")
KINDS = (Exception,)


def said(call: Callable[[], Any]) -> str:
    """What a call raises, with its notes, without the tree's place and numbers of lines; or what it returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call()
        except KINDS as error:
            text = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
        else:
            text = f"returned {made!r}"
    return re.sub(r"(\w+\.py):\d+", r"\1:LINE", text.replace(ROOT + "/", ""))


def test_there_are_enough() -> None:
    assert sum(map(len, SUBJECTS.values())) >= 200


@pytest.mark.parametrize("subject", SUBJECTS)
def test_messages(subject: str, golden: Callable[[str, str], None]) -> None:
    told = {name: said(call) for name, call in SUBJECTS[subject].items()}
    for name, text in told.items():
        assert not text.startswith("returned"), f"{name} {text}"
        assert not INTERNAL.search(text), f"{name} shows what is inside: {text}"
        assert len(text.splitlines()) <= 8, f"{name} is more than a glance: {text}"
    golden(f"messages/{subject}.txt", "\n\n".join(f"{name}\n{text}" for name, text in told.items()))
