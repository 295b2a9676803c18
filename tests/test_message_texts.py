"""What is said where something is refused, in goldens to be read as a stranger would: `--bless` writes them."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pullback.__main__ import main
from pullback.compiler.backend.extension.carried import KernelError
from pullback.compiler.frontend.errors import TraceError, TraceIndexError, UnknownFunction
from pullback.compiler.ir.explained import Explained
from pullback.compiler.ir.text import ParseError
from pullback.compiler.passes.loops.checkpoints import TooLittleMemory
from pullback.runtime.inspect.pages import page_of
from pullback.runtime.tensor.transforms.gradcheck import GradcheckError
from pullback.runtime.utils.checkpoint import CheckpointError
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


@pytest.mark.parametrize("cls", [
    TraceError, TraceIndexError, UnknownFunction, KernelError, ParseError, GradcheckError, CheckpointError,
    TooLittleMemory,
])
def test_errors_name_the_command_that_prints_their_page(cls: type[Explained], capsys: pytest.CaptureFixture) -> None:
    error = pickle.loads(pickle.dumps(cls("verdict")))
    (note,) = error.__notes__
    assert main(note.split("pullback ")[1].split()) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"# {cls.page}\n") and "**Cause.**" in page and "**Cure.**" in page
    assert page_of(f"pullback.{cls.__name__}") + "\n" == page


def test_pages_that_are_not_there_are_refused() -> None:
    assert page_of("ValueError") == page_of("TypeError") and "[`ParseError`](parse-error.md)" in page_of()
    for name in ("KeyError", "../index"):
        with pytest.raises(ValueError, match=r"no page tells of .*: pass the name of an error's class; there are"):
            page_of(name)
