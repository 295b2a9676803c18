"""The line that tells on a terminal what is being compiled, and what it leaves there: nothing."""

from __future__ import annotations

import io
import threading
import time
from contextlib import redirect_stderr

import numpy as np
import pytest

from pullback.compiler import watch
from pullback.compiler.settings import settings
from pullback.runtime.transforms import grad


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    monkeypatch.setattr(watch, "PERIOD", 0.01)


def slow(x):
    time.sleep(0.2)
    return np.sum(x * x)


def seen(text: str) -> str:
    """What is on one line of a terminal in the end."""
    line = ""
    for part in text.split("\r"):
        line = part.removeprefix("\x1b[K") if part.startswith("\x1b[K") else part
    return line


def test_it_comes_and_goes() -> None:
    with redirect_stderr(terminal := Terminal()):
        assert grad(slow)(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    written = terminal.getvalue()
    assert "pullback: compiling slow: trace, 0 s" in written and "\n" not in written
    assert seen(written) == ""


def test_it_goes_when_compiling_fails() -> None:
    def broken(x):
        time.sleep(0.2)
        raise KeyError("mine")

    with redirect_stderr(terminal := Terminal()), pytest.raises(KeyError, match="mine"):
        grad(broken)(1.0)
    assert "compiling broken" in terminal.getvalue() and seen(terminal.getvalue()) == ""
    assert not [each for each in threading.enumerate() if each.name == "pullback progress"]


def test_nothing_is_written() -> None:
    """Of what is quick, if the setting says so, from another thread, and where there is no terminal."""

    def work() -> None:
        with watch.progress("elsewhere"):
            time.sleep(0.1)

    with redirect_stderr(terminal := Terminal()):
        with watch.progress("quick"):
            pass
        with settings.override(progress=False), watch.progress("unwanted"):
            time.sleep(0.1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert terminal.getvalue() == ""
    for stream in (io.StringIO(), None):
        with redirect_stderr(stream), watch.progress("file"):
            time.sleep(0.08)
        assert stream is None or stream.getvalue() == ""


def test_the_outermost_name_stays() -> None:
    with redirect_stderr(terminal := Terminal()), watch.progress("outer"), watch.progress("inner"):
        time.sleep(0.1)
    assert "outer" in terminal.getvalue() and "inner" not in terminal.getvalue()
