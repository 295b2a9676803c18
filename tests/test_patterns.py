"""Calls that are recognised wherever they stand: programs with another structure at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls import calls, natively, places
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace import engine, plans
from pullback.runtime.tensor.trace.opened import set_irregular
from pullback.runtime.tensor.trace.states import forest
from pullback.runtime.tensor.trace.tape import Tape, tapes
from tests.random_structures import Structures

functional = torch.nn.functional


@contextmanager
def recognising(wanted: bool) -> Iterator[None]:
    set_irregular("patterns", not wanted)
    try:
        yield
    finally:
        set_irregular("patterns", False)


@pytest.fixture(autouse=True)
def afresh() -> None:
    forget_calls()


# ---- programs


def ran(seed: int, optimiser: str, steps: int, recognised: bool) -> Structures:
    with recognising(recognised):
        made = Structures(torch, seed, optimiser)
        for _ in range(steps):
            made.step()
        return made


def alike(a: Any, b: Any) -> bool:
    """Whether what two programs leave is the same, but for how numbers were rounded."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if type(a) is float and type(b) is float:
        return bool(np.isclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True))
    return type(a) is type(b) and a == b


NEVER = 1 << 60


@pytest.fixture(params=[NEVER, 2])
def same(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What compares: exactly, where the kernels are those of single operations; or up to rounding, where calls and
    their pullbacks become kernels the second time, which add up in another order."""
    monkeypatch.setattr(plans.Plan, "is_worth_compiling", lambda self: False)
    monkeypatch.setattr(engine, "OFTEN", request.param)
    return alike if request.param != NEVER else lambda a, b: repr(a) == repr(b)


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam"])
def test_random_structures_leave_what_they_leave_without_recognition(optimiser: str, same: Any) -> None:
    late = made = 0
    for seed in range(6):
        want, have = ran(seed, optimiser, 12, False), ran(seed, optimiser, 12, True)
        assert len(want.seen) == len(have.seen) and want.late == 0
        for k, (a, b) in enumerate(zip(have.seen, want.seen, strict=True)):
            assert same(a, b), f"seed {seed}, {k}: recognised {a}, else {b}"
        assert same(have.end_values(), want.end_values())
        late, made = late + have.late, made + have.made
    assert late > made / 2


class Encoder(torch.nn.Module):
    """A layer that joins two parts, and another for leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.join, self.first = torch.nn.Linear(8, 4), torch.nn.Linear(4, 4, bias=False)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, tree: Any) -> Any:
        if not isinstance(tree, tuple):
            return functional.relu(self.first(tree))
        left, right = [self(part) for part in tree]
        return self.norm(torch.tanh(self.join(torch.cat([left, right], dim=-1)))) * 0.5 + left


def trees(seed: int, leaves: int) -> Iterator[Any]:
    """Trees that differ from each other, over the same leaves."""
    rng = np.random.default_rng(seed)
    data = torch.tensor((rng.integers(-8, 8, (leaves, 4)) / 8).tolist())
    rows = [data[k].clone() for k in range(leaves)]

    def tree(few: list[Any]) -> Any:
        if len(few) == 1:
            return few[0]
        k = int(rng.integers(1, len(few)))
        return tree(few[:k]), tree(few[k:])

    seen: set[str] = set()
    while True:
        made = tree([rows[n] for n in rng.permutation(leaves)])
        if repr(made) not in seen:
            yield made


def trained(steps: int, recognised: bool = True, seed: int = 3) -> tuple[list[float], Any]:
    with recognising(recognised):
        torch.manual_seed(seed)
        encoder, source = Encoder(), trees(seed, 7)
        optimiser = torch.optim.SGD(encoder.parameters(), lr=0.1)
        losses = []
        for _ in range(steps):
            loss = encoder(next(source)).pow(2).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        return losses, [p.tolist() for p in encoder.parameters()]


def test_new_structures_are_recognised_natively(monkeypatch: pytest.MonkeyPatch, same: Any) -> None:
    slow: list[str] = []
    follow = calls.follow

    def counted(tape: Any, state: Any, reading: Any) -> Any:
        if not reading.recorded.exact:
            slow.append(reading.recorded.function.__name__)
        return follow(tape, state, reading)

    monkeypatch.setattr(calls, "follow", counted)
    torch.manual_seed(0)
    encoder, source, counts = Encoder(), trees(0, 9), []
    for _ in range(12):
        slow.clear()
        loss = encoder(next(source)).pow(2).sum()
        loss.backward()
        assert loss.item() > 0
        counts.append(len(slow))
    assert counts[-4:] == [0] * 4, (counts, slow)
    assert same(trained(8), trained(8, recognised=False))


def test_operations_on_what_another_trace_computed() -> None:
    def values(recognised: bool) -> list[Any]:
        with recognising(recognised):
            rng, found = np.random.default_rng(1), []
            x = torch.tensor([1.0, 2.0, 3.0])
            pool = [x, x * 2, torch.ones(3)]
            for k in range(60):
                a, b = (pool[n] for n in rng.integers(0, 3, 2))
                pool[int(rng.integers(3))] = (a + b, a * 0.5, a.detach() - b, a / 2)[rng.integers(4)]
                if k % 7 == 6:
                    found.append(pool[0].tolist())
                if k % 11 == 10:
                    torch.ones(1).sum().item()  # the trace ends, and what is in the pool is on none
            return [*found, [t.tolist() for t in pool]]

    assert values(True) == values(False)


def test_numbers_of_every_kind_are_as_without_recognition() -> None:
    numbers = [2, 2.0, True, False, -0.0, 0.0, 0, 1e39, -1e39, float("inf"), float("nan"), 2**31, 2**40, 10**30, 1e-50]

    def values(recognised: bool) -> list[str]:
        with recognising(recognised):
            found = []
            for k in range(3 * len(numbers)):
                x = torch.tensor([1.0, -0.0], requires_grad=True)
                n = torch.tensor([1, -3])
                for j in range(k % 3):
                    x = x * float(j + 2)
                number = numbers[k % len(numbers)]
                for made in (lambda: x * number, lambda: number - x, lambda: n * number, lambda: n + number,  # noqa: B023
                             lambda: x.add(n, alpha=number)):  # fmt: skip  # noqa: B023
                    try:
                        y = made()
                        found.append(f"{y.dtype} {y.tolist()}")
                    except (RuntimeError, OverflowError) as error:
                        found.append(f"{type(error).__name__} {error}")
            return found

    assert values(True) == values(False)


# ---- errors


def line_of(mark: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(k for k, line in enumerate(file, 1) if mark in line and "line_of" not in line)


def test_errors_name_the_line_of_the_call_though_it_was_recognised_elsewhere() -> None:
    act = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid())
    rng, found = np.random.default_rng(5), 0
    for k in range(24):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for n in rng.integers(0, 3, 6):
            x = (x * 1.5, x + x, functional.relu(x))[n]
        if k % 2:
            y = act(x)  # by modules
        else:
            y = functional.softplus(x).exp()  # by functions
        tape: Any = tapes.tape
        before = len(tape.notes())
        y.mul_(2)  # over it
        if before:
            found += 1
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
        text, mark = str(caught.value), "by modules" if k % 2 else "by functions"
        assert f"test_patterns.py:{line_of('# ' + mark)} saved" in text, text
        assert f"written to at test_patterns.py:{line_of('# over it')}" in text, text
    assert found > 8


def test_files_beside_the_package_are_the_programs_own() -> None:
    folder = places._FOLDER
    scope: dict[str, Any] = {"torch": torch}
    name = folder.rstrip("/\\") + "_of_mine.py"
    exec(compile("def run(x):\n    y = x.exp()\n    y.mul_(2)\n    y.sum().backward()\n", name, "exec"), scope)
    assert not places.Codes().inside(scope["run"].__code__)
    assert places.Codes().inside(places.here.__code__)
    for k in range(6):
        x = torch.tensor([1.0, 2.0], requires_grad=True) * 2.0
        for _ in range(k):
            x = x + x
        with pytest.raises(RuntimeError, match=r"_of_mine.py:2 saved"):
            scope["run"](x)


def told_by(state: Any) -> list[Any]:
    """The states that native code goes to from one, the newest first."""
    found, at = [], state.first
    while at is not None:
        found, at = [*found, at], at.sibling
    return found


def test_programs_that_begin_alike_are_told_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def counted(of: Any, name: str) -> None:
        real = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *given: (asked.append(name), real(*given))[1])

    counted(calls, "follow")
    counted(Tape, "settle")
    size = natively.CHILDREN + 4

    def step(x: Any) -> tuple[float, int]:
        asked.clear()
        return torch.tanh(x).mul(2.0).sum().item(), len(asked)

    vectors = [torch.linspace(0.0, 1.0, n) for n in range(2, size + 2)]
    want = [2 * np.tanh(x.numpy()).sum() for x in vectors]
    for k, x in enumerate(vectors):
        counts = []
        for _ in range(3 * natively.OFTEN):
            value, count = step(x)
            assert value == pytest.approx(want[k], rel=1e-5)
            counts.append(count)
        assert counts[-natively.OFTEN :] == [0] * natively.OFTEN, (k, counts)
    for _ in range(3 * natively.OFTEN):  # in turn, where not all of them can be told
        assert [step(x)[0] for x in vectors] == pytest.approx(want, rel=1e-5)
    told = told_by(forest.root)
    assert len(told) == len({*map(id, told)}) >= natively.CHILDREN
    assert max(Counter(id(state.call) for state in told).values()) == natively.CHILDREN
