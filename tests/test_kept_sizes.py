"""What was learned of sizes is kept on disk: later processes lower nothing for sizes that earlier ones have seen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import grad
from pullback.compiler.backend.disk import store
from pullback.compiler.backend.sized import shared
from pullback.compiler.settings import settings
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace import structures
from pullback.runtime.tensor.trace.fragments import families, outlines
from pullback.runtime.tensor.trace.fragments.fragment_cache import forget_fragments

nn, F = torch.nn, torch.nn.functional


def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process knows of sizes."""
    forget_calls()
    forget_fragments()
    for module, name in ((structures, "_structures"), (families, "_families"), (outlines, "_bodies")):
        monkeypatch.setattr(module, name, type(getattr(module, name))())
    monkeypatch.setattr(structures, "_missed", 0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    new_process(monkeypatch)
    with settings.override(background=False, cache=True, cache_dir=tmp_path / "kept"):
        yield tmp_path / "kept"
        shared._unsaved.clear()


def save() -> None:
    """What is done when a process ends."""
    for each in [*shared._unsaved]:
        each.save()


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The graphs that are gone through with sizes from here on."""
    found: list[Any] = []
    follow: Callable[..., bool] = shared.Shared._followed

    def followed(self: Any, graph: Any, *args: Any) -> bool:
        found.append(graph)
        return follow(self, graph, *args)

    monkeypatch.setattr(shared.Shared, "_followed", followed)
    return found


def trained(steps: int, seed: int = 1) -> list[float]:
    torch.manual_seed(0)
    rng = np.random.default_rng(seed)
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    optimiser, losses = torch.optim.Adam(net.parameters(), 1e-3), []
    for _ in range(steps):
        n = int(rng.integers(17, 60))
        x = torch.tensor(rng.standard_normal((n, 6)), dtype=torch.float32)
        made = F.cross_entropy(net(x), torch.tensor(rng.integers(0, 3, n)))
        optimiser.zero_grad()
        made.backward()
        optimiser.step()
        losses.append(made.item())
    return losses


def test_a_later_process_lowers_nothing(lowered: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    first = trained(40)
    assert len(lowered) > 10
    save()
    lowered.clear()
    new_process(monkeypatch)
    np.testing.assert_allclose(trained(40), first, rtol=1e-5)
    assert len(lowered) < 5, "first sizes, which had code of their own"
    assert any(s.family is not None for s in structures._structures.values()), "whole steps have been found"
    trained(40, seed=2)  # what it learns besides goes on from there
    save()
    count = {family.shared._place: family.shared.ways for family in families._families.values()}
    lowered.clear()
    new_process(monkeypatch)
    trained(40)
    assert not lowered
    again = {family.shared._place: family.shared.ways for family in families._families.values()}
    assert {place: count[place] for place in again} == again and max(again.values()) > 1


PROGRAM = """
import sys
import pullback as torch
from pullback import grad
torch.manual_seed(0)
w = torch.randn(6, 3, requires_grad=True)
for n in (20, 31, 44, 29, 57, 35, 23, 26, 41):
    w.grad = None
    (torch.randn(n, 6) @ w).tanh().pow(2).sum().backward()
    print(w.grad.abs().sum().item())
print(sum(name.startswith("pullback.compiler.lowering.") for name in sys.modules))
"""


def test_a_later_process_loads_no_compiler(folder: Path) -> None:
    told = {**os.environ, "PULLBACK_CACHE": "1", "PULLBACK_CACHE_DIR": str(folder), "PULLBACK_BACKGROUND": "0"}
    outs = []
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=told, timeout=120)
        assert run.returncode == 0 and not run.stderr, run.stderr
        outs.append(run.stdout.split())
    assert int(outs[0][-1]) > 5 and int(outs[1][-1]) == 0
    np.testing.assert_allclose([*map(float, outs[1][:-1])], [*map(float, outs[0][:-1])], rtol=1e-6)


def grown(n: int) -> bytes:
    x = torch.linspace(-1, 1, 3 * n).reshape(n, 3).requires_grad_()
    (x.sigmoid() * x).sum().backward()
    return np.asarray(x.grad).tobytes()  # type: ignore[arg-type]


def heat(x: Any) -> Any:
    return np.sum(np.exp(np.sin(x)) * x[::-1])


def slopes() -> tuple[list[bytes], int]:
    """The gradient at many sizes, and how many of these kernels had their text written."""
    slope: Any = grad(heat)
    made = [slope(np.linspace(0, 1, n)).tobytes() for n in (40, 50, 61, 75, 90)]
    return made, sum("emit" in form.times for form in slope.report().forms)


def test_compiled_functions_find_their_sizes(lowered: list[Any]) -> None:
    first, written = slopes()
    assert lowered and written
    save()
    lowered.clear()
    again, written = slopes()
    assert again == first and not written and not lowered


def test_what_is_shown_is_made(capfd: pytest.CaptureFixture[str]) -> None:
    slopes()
    save()
    with settings.override(dump=("llvm",)):
        slopes()
    assert capfd.readouterr().err.count("define i64 @") > 1


def test_code_that_is_gone_is_made_anew(folder: Path, lowered: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    want = {n: grown(n) for n in (30, 40, 50, 61)}
    save()
    ways = {family.shared._place for family in families._families.values()}
    kept = [path for path, _, _ in store.contents() if path.stem not in ways]
    assert len(kept) > 2
    for gone in (lambda path: path.unlink(), lambda path: path.write_bytes(b"what we have not written")):
        for path in kept:
            if path.exists():
                gone(path)
        lowered.clear()
        new_process(monkeypatch)
        assert {n: grown(n) for n in want} == want
        assert lowered, "it was gone through again"
        save()
    lowered.clear()
    new_process(monkeypatch)
    assert {n: grown(n) for n in want} == want and not lowered


def test_better_code_can_be_made_of_text_on_disk(lowered: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):  # the first size has code of its own in the first process
        want = [grown(n) for n in (30, 40)]
        save()
        new_process(monkeypatch)
    lowered.clear()
    with settings.override(level=1):  # code of this level is not there
        assert [grown(n) for n in (30, 40)] == want
    assert not lowered


def test_what_is_learned_elsewhere_stays_there(folder: Path, tmp_path: Path) -> None:
    [grown(n) for n in (30, 40)]
    shared._unsaved.update([family.shared for family in families._families.values()])
    count = len(store.contents())
    with settings.override(cache_dir=tmp_path / "other"):
        save()
        assert not store.contents()
    with settings.override(cache=False):
        save()
    assert len(store.contents()) == count > 0
