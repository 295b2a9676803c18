"""What is logged: why a function was compiled, what came from disk, and stages; by `logging`, or to standard error."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from pullback import grad
from pullback.compiler.settings import settings


def wave(x):
    return np.sum(np.sin(x) ** 2)


def test_loggers_have_what_happens(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.DEBUG, "pullback"), settings.override(cache=True, cache_dir=tmp_path):
        for _ in range(2):
            slope = grad(wave)
            slope(np.ones(3))
            slope(np.ones(20))
    said = [(each.name, each.getMessage()) for each in caplog.records]
    assert said.count(("pullback.forms", "wave: compiled: the first call")) == 2
    disk = [text for name, text in said if name == "pullback.cache"]
    assert any("not found on disk" in text for text in disk) and any(": found on disk" in text for text in disk)
    took = [each for each in caplog.records if each.name == "pullback.stages"]
    assert {"adjoint", "lowering", "emit"} <= {each.args[1] for each in took if each.function.startswith("wave")}  # type: ignore


def test_topics_are_written_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with settings.override(log={"forms"}):
        grad(wave)(np.ones(3))
    assert capsys.readouterr().err == "pullback.forms: wave: compiled: the first call\n"
    grad(wave)(np.ones(3))
    assert capsys.readouterr().err == ""
