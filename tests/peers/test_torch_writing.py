"""Random programs that write to tensors, views and their bases, with torch and with pullback.

Each statement must succeed or fail with the same error, and leave the same values, versions, requires_grad and grad_fn;
then every tensor is differentiated.  Where torch finds that a saved value was written over and we don't, because our
pullback did not save that one, the gradient is right all the same, and the program is compared up to there.
"""

import random
import warnings
from typing import Any

import pytest
import torch

import pullback
from tests.semantics import difference, plain

VALUES = (
    "{a} * {b}", "{a} + {b}", "{a}.sin()", "{a} * 2", "{a}.tanh()", "{a}.clone()", "{a} * {a}", "{a}.sum(0)",
    "torch.cat([{a}, {b}])", "{a}.sigmoid() + {b}.detach()", "{a} / ({b} + 3)", "{a}.relu()", "{a}.cumsum(0)",
    "torch.where({a} > 0.5, {a}, {b})", "{a}.index_select(0, torch.tensor([1, 0]))",
)  # fmt: skip
VIEWS = (
    "{a}[0]", "{a}[1:]", "{a}.view(-1)", "{a}.unsqueeze(0)", "{a}.detach()", "{a}.reshape(-1)", "{a}.unbind()[0]",
    "{a}.split(1)[1]", "{a}.diagonal()", "{a}[:, 1]", "{a}[..., -1]", "{a}[None]", "{a}.view(3, 2)", "{a}.squeeze()",
    "{a}.flatten()[::2]", "{a}.narrow(0, 0, 1)",
)  # fmt: skip
WRITES = (
    "{a}.mul_(2)", "{a}.add_({b})", "{a}.mul_({b})", "{a}.sin_()", "{a}.tanh_()", "{a}.zero_()", "{a}[0] = 0.5",
    "{a}[0] = {b}", "{a}.copy_({b})", "{a}[{a} > 0.5] = 1", "{a}[..., 1] = {b}.sum()", "{a} += {b}", "{a}.fill_(0.25)",
    "{a}[torch.tensor([1])] = {b}", "{a}.div_({b} + 2)", "{a}.sub_({a})", "{a}.mul_({a})", "{a}[1:].add_({b})",
    "{a}.sigmoid_()", "{a}.clamp_(0.2, 0.9)",
)  # fmt: skip


def statements(seed: int) -> list[str]:
    choose = random.Random(seed)
    lines, count = [], choose.randint(1, 3)
    for k in range(count):
        shape = choose.choice(["2, 3", "2, 3", "3, 2", "6"])
        flag, first = choose.random() < 0.6, choose.randint(1, 9)
        lines.append(f"t{k} = (torch.arange(6.0).view({shape}) / 7 + 0.{first}).requires_grad_({flag})")
    for _ in range(choose.randint(4, 12)):
        names = {"a": f"t{choose.randrange(count)}", "b": f"t{choose.randrange(count)}"}
        kind = choose.random()
        line = choose.choice(VALUES if kind < 0.3 else VIEWS if kind < 0.6 else WRITES).format(**names)
        if kind < 0.6:
            line, count = f"t{count} = {line}", count + 1
        lines.append(f"with torch.no_grad(): {line}" if choose.random() < 0.12 else line)
    return lines


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def state(tensors: dict[str, Any]) -> dict[str, Any]:
    """Values and history; torch has none to tell of some views."""
    return {name: outcome(lambda t=t: [plain(t, True), t._version]) for name, t in tensors.items()}


def run(module: Any, lines: list[str]) -> tuple[list[Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """How each statement ended, the state, how each backward ended, and the gradients."""
    names: dict[str, Any] = {"torch": module}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [outcome(lambda line=line: exec(line, names)) for line in lines]
        tensors = {name: t for name, t in names.items() if name.startswith("t") and name != "torch"}
        before = state(tensors)
        asked = {n: t for n, t in tensors.items() if outcome(lambda t=t: t.requires_grad) is True}
        backs = {n: outcome(lambda t=t: t.tanh().sum().backward(retain_graph=True)) for n, t in asked.items()}
        grads = {n: outcome(lambda t=t: t.grad if t.grad is None else plain(t.grad, False)) for n, t in tensors.items()}
    return ends, before, backs, grads


@pytest.mark.parametrize("seed", range(400))
def test_the_same_program(seed: int) -> None:
    lines = statements(seed)
    (*ours, our_backs, our_grads), (*theirs, their_backs, their_grads) = run(pullback, lines), run(torch, lines)
    wrong = difference(ours, theirs)
    if wrong is None:
        lenient = any(our_backs[n] is None and end == "RuntimeError" for n, end in their_backs.items())
        wrong = None if lenient else difference([our_backs, our_grads], [their_backs, their_grads])
    assert wrong is None, "\n".join([wrong, *lines])


def step(module: Any, lines: list[str]) -> list[Any]:
    """How each statement ended, and what a backward from all that has a history gives; nobody looks before."""
    names: dict[str, Any] = {"torch": module}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [outcome(lambda line=line: exec(line, names)) for line in lines]
        tensors = {name: t for name, t in names.items() if name.startswith("t") and name != "torch"}
        asked = [t for t in tensors.values() if outcome(lambda t=t: t.requires_grad) is True]
        back = outcome(lambda: sum([t.tanh().sum() for t in asked]).backward()) if asked else None
        grads = {n: outcome(lambda t=t: t.grad if t.grad is None else plain(t.grad, False)) for n, t in tensors.items()}
        return [ends, back, grads, {name: outcome(lambda t=t: plain(t, False)) for name, t in tensors.items()}]


@pytest.mark.parametrize("seed", range(1000, 1250))
def test_a_step_that_comes_again(seed: int) -> None:
    """The second time calls are known, and the third time native code follows them."""
    lines = statements(seed)
    theirs = step(torch, lines)
    for _ in range(4):
        ours = step(pullback, lines)
        lenient = theirs[1] == "RuntimeError" and ours[1] is None
        wrong = difference(*[[ends, values] if lenient else [ends, back, grads, values]
                             for ends, back, grads, values in (ours, theirs)])
        assert wrong is None, "\n".join([wrong, *lines])
