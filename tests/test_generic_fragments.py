"""Fragments of sizes that are new, by formulas: their graphs and pullbacks are those that would be made for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.symint import SymSizes, by_node
from pullback.runtime.tensor.trace.fragments import dynamic, fragment_cache, fragments
from pullback.runtime.tensor.trace.fragments.meaning import made_of
from pullback.runtime.tensor.trace.fragments.outlines import body_of, outline
from pullback.runtime.tensor.value import cells
from tests.sized_programs import LAYERS, OPERATIONS, SIZES, draw, nothing_learned, run_layer


class Checked:
    """Compares each fragment that comes of formulas, and each pullback, with what is made without; counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.instances: list[str] = []
        self.pulls: list[str] = []
        instance, pull = fragment_cache._instance, fragment_cache.Instance.pull

        def checked(key: Any) -> Any:
            made = instance(key)
            if made is not None:
                self.instances.append(made.operation.name)
                same(made, fragments.Fragment(*made_of(key)))
            return made

        def checked_pull(self_: Any, fragment: Any, wanted: Any, present: Any = None) -> Any:
            made = pull(self_, fragment, wanted, present)
            if made is not None:
                self.pulls.append(fragment.operation.name)
                want = fragments.pulled(fragment, wanted, present)
                same(made.fragment, want.fragment)
                assert made[1:] == want[1:]
            return made

        monkeypatch.setattr(fragment_cache, "_instance", checked)
        monkeypatch.setattr(fragment_cache.Instance, "pull", checked_pull)


def same(made: Any, want: Any) -> None:
    mine: list[Any] = []
    theirs: list[Any] = []
    if outline(made.graph, mine) == outline(want.graph, theirs):
        assert repr(mine) == repr(theirs) and made.outline == body_of(want.graph), made.operation
    else:  # where sizes are equal by chance, code of their own computes some of it once
        assert len(made.graph.body) > len(want.graph.body)
        rng = np.random.default_rng(0)
        given = [np.asarray(rng.uniform(0, 2, p.type.static_shape()), p.type.numpy) for p in want.graph.params]
        for a, b in zip(evaluate(made.graph, given), evaluate(want.graph, given), strict=True):
            assert a.tobytes() == b.tobytes()
    for name in ("numbers", "inputs", "results", "exact", "floats", "differentiable", "has_numbers"):
        assert getattr(made, name) == getattr(want, name), (made.operation, name)
    assert made.operation.node == want.operation.node and made.alone.size == want.alone.size


afresh = pytest.fixture(autouse=True)(nothing_learned)


@pytest.mark.parametrize("name", OPERATIONS)
def test_formulas_make_what_would_be_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    checked = Checked(monkeypatch)
    for n in SIZES:
        x = draw(n, 6).requires_grad_()
        made = OPERATIONS[name](x, n)
        (made.float() ** 2).sum().backward()
        assert x.grad is not None or name == "integers"
    assert len(checked.instances) > 5 and len(checked.pulls) > 5, (len(checked.instances), len(checked.pulls))


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_do(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch)
    run_layer(layer)
    assert len(checked.instances) > 10 and len(checked.pulls) > 5


def test_two_sizes_that_move_apart_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch)
    for n, m in ((9, 9), (20, 20), (20, 12), (9, 30), (33, 7), (7, 7), (1, 40), (40, 1)):
        x = draw(n, 6).requires_grad_()
        (x @ draw(6, m) + draw(1, m)).relu().sum().backward()
    assert len(checked.instances) > 10


def test_what_cannot_be_generic_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [0]
    learn = fragment_cache._learned

    def failing(*args: Any) -> None:
        tried[0] += 1
        learn(*args)
        raise ValueError("it asks for what stands for a number")

    monkeypatch.setattr(fragment_cache, "_learned", failing)
    for n in range(10, 60):
        assert (draw(n, 3) * 0).exp().sum().item() == 3 * n
    each = len(fragment_cache._generics)
    assert 0 < tried[0] <= dynamic.PATIENCE * each


def test_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragment_cache, "LIMIT", 5)
    for n in range(10, 20):
        x = draw(n, 3)
        assert (((x + 1).exp() * 2).log() - x).sum().item() == pytest.approx(3 * n * 1.693147, rel=1e-4)
    assert len(fragment_cache._fragments) <= 5 and len(fragment_cache._generics) <= 5


def test_what_is_kept_for_others_has_plain_sizes() -> None:
    for n in (5, 9, 12, 30):
        x = draw(n, n).requires_grad_()
        made = [torch.fft.rfft2(x).abs(), torch.linalg.solve(x + 9 * torch.eye(n), x), torch.linalg.svdvals(x)]
        made += [torch.linalg.qr(x)[1], torch.view_as_real(torch.complex(x, x) @ torch.complex(x, x)), x.sort(0)[0]]
        for each in made:
            each.sum().backward()
            assert all(type(k) is int for k in each.shape), each.shape
    assert all(type(k) is int for _, shape, _ in cells._KINDS for k in shape)
    with pytest.raises(TypeError, match="a table would find"):
        hash(SymSizes(tables=False).symbol(3))
    n, m = (SymSizes(tables=False).symbol(k) for k in (3, 3))
    assert by_node((n + 1, (n,))) == by_node((n + 1, (n,))) != by_node((n + 2, (n,)))
    assert {by_node(n)} == {by_node(m)}, "each is the first of its own"
