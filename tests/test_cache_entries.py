"""Entries on disk: kernels that share a graph or a pattern find their own again; later processes make no code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.backend import code, tiers
from pullback.compiler.backend.disk import cache
from pullback.compiler.settings import settings
from pullback.runtime.compiled.function import AWAITED

CALLS = AWAITED + 2
"""Calls after which a size has an entry."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PULLBACK_CACHE", "1")
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """The texts that go through LLVM."""
    found: list[str] = []
    for module in (cache, code):
        compiling = module.compile_object

        def compile_object(text: str, *rest: Any, compiling: Any = compiling) -> bytes:
            found.append(text)
            return compiling(text, *rest)

        monkeypatch.setattr(module, "compile_object", compile_object)
    return found


def again(run: Any, folder: Path, made: list[str]) -> list[Any]:
    """What a second run gives, which makes no code and leaves no file."""
    first, kept = run(), sorted(folder.glob("*/*"))
    assert made and kept
    made.clear()
    second = run()
    assert made == [] and sorted(folder.glob("*/*")) == kept
    assert [np.asarray(x).tobytes() for x in first] == [np.asarray(x).tobytes() for x in second]
    return second


def waves(x):
    return np.sum(np.sin(x) * x)


def test_entries_of_sizes_that_share_code_are_found_again(folder, made):
    def run() -> list[Any]:
        slope: Any = grad(waves)
        results = [slope(np.linspace(0, 1, n)) for n in (20, 30, 40, 50) for _ in range(CALLS)]
        assert slope._latest.kernel.name.endswith("sized")
        return results

    for result, n in zip(again(run, folder, made)[CALLS - 1 :: CALLS], (20, 30, 40, 50), strict=True):
        x = np.linspace(0, 1, n)
        np.testing.assert_allclose(result, np.cos(x) * x + np.sin(x), rtol=1e-14)


def scaled(x, y):
    return np.sin(x) * y


def test_entries_that_stand_beside_the_same_kernel_do_not_take_each_others_place(folder, made):
    def run() -> list[Any]:
        function = jit(scaled)
        results = [function(1.0, 2.0), function(np.float64(1.0), 2.0), function(1.0, np.float64(2.0))]
        assert [type(each) for each in results] == [float, np.float64, np.float64]
        return results

    assert again(run, folder, made)[0] == np.sin(1.0) * 2.0


def test_entries_of_sizes_are_found_again_when_the_better_code_is(folder, made):
    def run() -> list[Any]:
        slope: Any = grad(waves)
        for n in (20_000, 30_000, 40_000):
            for _ in range(CALLS):
                slope(np.linspace(0, 1, n))
        assert tiers.settle()
        return [slope(np.linspace(0, 1, n)) for n in (20_000, 30_000, 40_000)]

    run()  # makes the better code
    again_made = run()  # and entries that call it at once
    kept = sorted(folder.glob("*/*"))
    made.clear()
    assert [x.tobytes() for x in run()] == [x.tobytes() for x in again_made]
    assert made == [] and sorted(folder.glob("*/*")) == kept


def test_the_better_code_is_that_of_level_2(folder, made):
    x = np.linspace(0, 1, 1000)
    slope: Any = grad(waves)
    for _ in range(slope(x).size and slope._latest.kernel.code.calls):
        slope(x)
    assert tiers.settle()
    kept = sorted(folder.glob("*/*"))
    made.clear()
    with settings.override(level=tiers.BETTER):
        fixed: Any = grad(waves)
        assert fixed(x).tobytes() == slope(x).tobytes()
    assert fixed._latest.kernel.code.cached == [f"level {tiers.BETTER}"]
    assert len(made) <= 1 and all("define i64 @kernel.waves_grad(" not in text for text in made)  # an entry at most
    assert set(kept) <= set(folder.glob("*/*"))
