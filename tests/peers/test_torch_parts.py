"""Parts of plain data that are read and written one by one, with torch and with pullback.

Random programs cut rows, elements and columns, hold some of them, write to them and to what they are parts of, detach,
export and begin to require gradients. Values, versions, requires_grad, gradients and classes of errors are the same.
"""

import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import pullback
from pullback.runtime.tensor.trace.tape import tapes

VALUES = (
    "{a}[{i}]", "{a}[{s}]", "{a}[{i}, {j}]", "{a}[:, {j}]", "{a}[None]", "{a}.view(-1)", "{a}.detach()", "{a}.t()",
    "{a}[{i}].clone()", "{a} * 2", "{a}[{i}] * {b}[{j}]", "{a}[{i}] + 1", "{a}[{i}] > {b}[{j}]", "{a}.flatten()[::2]",
    "{a}[..., 0]", "{a}.unbind()[0]", "{a}[[0, 1]]", "{a}[torch.tensor({i})]", "{a}[{i}].detach()", "{a}[{s}, {j}]",
    "list({a})[{i}]", "{a}.detach().numpy().tolist()", "torch.stack([{a}[0], {a}[1]])", "{a}[{i}].sum()",
    "{a}[{a} > 0.5]", "{a}[{i}] - {a}[{j}]", "{a}[0] / 3", "{a}[torch.tensor([0, 1])]", "{a}.reshape(-1)[{i}]",
    "w * {a}[{i}].sum()", "{a}[{i}] @ {b}[{j}]", "{a} @ {b}[{j}]", "{a}[{i}].sum() > 1", "{a}[:, torch.tensor({j})]",
    "{a}[torch.tensor({j}):]", "({a} * 2)[torch.tensor({i})]",
    "{a}[{i}].requires_grad", "{a}[{i}]._version", "{a}[{i}][0:1]", "float({a}[{i}].sum())",
)  # fmt: skip
WRITES = (
    "{a}[{i}] = {b}[{j}]", "{a}[{i}] = 0.5", "{a}[{i}, {j}] += 1", "{a}[{i}] += {b}[{j}]", "{a}[{s}] *= 2",
    "{a}[:, {j}] -= 1", "{a}[{i}].add_(1)", "{a}[{i}].copy_({b}[{j}])", "{a}[{i}].zero_()", "{a}[{i}].fill_(2)",
    "{a}.add_(1)", "{a}.mul_({b})", "{a}[{a} > 1] = 0", "{a}[{i}].clamp_(-1, 1)", "{a}[1:] = {a}[:-1]",
    "{a}[{i}].add_({b}[{j}], alpha=0.5)", "{a}[{i}].sin_()", "{a}[{i}] = {a}[{j}]", "{a}[{i}] -= {a}[{j}]",
    "{a}[{i}].mul_({a}[{i}])", "{a}.zero_()", "{a}[{i}].div_(2)", "{a}.requires_grad_()", "{a}.detach().sub_(0.5)",
    "with torch.no_grad(): {a}.add_(1)", "{a}.add_(w)", "{a}[{i}].add_(w)", "{a}[{i}] = w",
    "{a}[{i}].detach().mul_(3)", "for r in {a}: r.add_(1)", "for r in {a}: r[0] = 2", "{a}[[0, 1]] += 1",
    "{a}[{i}][0] = 4", "{a}[-1] = {a}[0] * 2", "{a}.detach()[{i}] = 7", "{a}[{i}] += {a}[{i}]",
    "({a}[{i}] * w).sum().backward()", "{a} += {b}[0]",
)  # fmt: skip


def program(seed: int) -> list[tuple[str, str]]:
    choose, names, lines = random.Random(seed), ["a", "b"], []
    for k in range(choose.randint(3, 12)):
        words = {"a": choose.choice(names), "b": choose.choice(names), "i": choose.randint(-2, 2)}
        words |= {"j": choose.randint(0, 2), "s": choose.choice(["0:1", "1:3", "::2", "1:"])}
        if choose.random() < 0.45:
            line = choose.choice(VALUES).format(**words)
            lines.append((f"v{k}", f"v{k} = {line}"))
            if not any(word in line for word in ("tolist", "requires", "version", "float")):
                names.append(f"v{k}")
        else:
            lines.append(("", choose.choice(WRITES).format(**words)))
    return lines


def shown(x: Any, library: Any) -> Any:
    if not isinstance(x, library.Tensor):
        return x
    return x.requires_grad, x._version, str(x.dtype).rpartition(".")[2], tuple(x.shape), x.detach().tolist()


def told(lines: list[tuple[str, str]], library: Any, dtype: str, looks: bool) -> list[Any]:
    """What the variables are at the end, or after each line."""
    whole = library.arange(9, dtype=getattr(library, dtype)).reshape(3, 3).clone()
    names = {"torch": library, "a": whole, "b": (whole * 2 + 1).clone(), "w": library.ones(3, requires_grad=True)}
    names["b"].tolist()
    found: list[Any] = []
    for name, line in lines:
        try:
            exec(line, names)
        except Exception as error:
            found.append((line, type(error).__name__))
            break
        if looks:
            found.append([shown(names[n], library) for n in ("a", "b", name or "w")])
    found += [shown(names[n], library) for n in ("a", "b", "w", *[n for n, _ in lines if n in names])]
    return [*found, None if names["w"].grad is None else names["w"].grad.tolist()]


def close(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(map(close, mine, theirs))
    if isinstance(theirs, float):
        return bool(np.isclose(mine, theirs, rtol=1e-4, atol=1e-5, equal_nan=True))
    return mine == theirs


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_random_programs_of_parts_are_pytorchs(dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(40):
            lines = program(seed)
            theirs, mine = (told(lines, each, dtype, seed % 2 == 1) for each in (torch, pullback))
            assert close(mine, theirs), (seed, [line for _, line in lines])


def test_parts_are_read_and_written_beside_the_trace() -> None:
    table, counts, rows = pullback.zeros(4, 5), pullback.zeros(3, dtype=pullback.int64), pullback.arange(6.0).view(3, 2)
    tapes.tape.flush()
    for k in range(8):
        table[k % 4, k % 5] += 1.5
        table[k % 4] *= 2
        table[:, 1].add_(rows[0, 1])
        counts[pullback.tensor(k % 3)] += 1
        if table[0, 0] > table[1, 1] + 1:
            table[2].clamp_(0, 5)
        float(table[k % 4, 2])
        table[0] = table[1]
    assert tapes.tape.count == 0 and table._storage is None and counts._storage is None
    assert counts.tolist() == [3, 3, 2] and table._version == 49


def test_a_buffer_is_not_copied_where_a_part_of_it_was_read() -> None:
    buffer = pullback.zeros(1000, 4)
    buffer[0] = 1
    memory = buffer._cell.array.ctypes.data
    for k in range(5):
        buffer[k].add_(2)
        buffer[k + 1] = buffer[k] * 2
        assert buffer[k].sum() > 0
    assert buffer._cell.array.ctypes.data == memory


def test_what_backward_has_saved_is_not_written_over() -> None:
    for library in (torch, pullback):
        table, w = library.ones(3, 2), library.ones(2, requires_grad=True)
        row = table[1]
        loss = (row * w).sum()
        table[1, 0] += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        held = (table[1] * w.detach()).sum()
        table[1] = 0
        assert held.item() == 3


def test_products_and_comparisons_of_plain_rows_record_nothing() -> None:
    weights, state = pullback.eye(4) * 2 - 1, pullback.ones(4)
    weights.tolist()
    for i in range(4):
        state[i] = 1.0 if weights[i] @ state > 0 else -1.0
        assert float(weights[i, i]) == 1
    assert tapes.tape.count == 0 and weights._storage is None and state._storage is None
    assert state.tolist() == [-1, -1, 1, 1]


def test_a_part_requires_what_its_tensor_requires_by_now():
    for t in (pullback, torch):
        x = t.zeros(4)
        part = x[1:3]
        assert not part.requires_grad
        x.add_(t.ones(4, requires_grad=True))
        assert part.requires_grad and part.grad_fn is not None
