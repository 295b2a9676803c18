"""A step on a table of word vectors: a batch reads some rows, and only those move.

Each way keeps a table of its own and changes it in place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import jit, value_and_grad

RATE, WIDTH, BATCH = 0.5, 32, 256


def loss(table, head, words, target):
    error = table[words] @ head - target
    return np.mean(error * error)


def step(table, head, words, target):
    value, (to_table, to_head) = value_and_grad(loss, argnums=(0, 1))(table, head, words, target)
    return value, table - RATE * to_table, head - RATE * to_head


def ours(table, head, words, target):
    compiled = jit(step)
    return lambda: compiled(table, head, words, target, out=(None, table, head))[0]


def by_hand(table, head, words, target):
    def run():
        rows = table[words]
        error = rows @ head - target
        back = (2 * RATE / len(words)) * error
        np.subtract.at(table, words, back[:, None] * head)
        head[:] -= back @ rows
        return np.mean(error * error)

    return run


def by_torch(torch, table, head, words, target):
    vectors = torch.nn.Embedding(*table.shape, sparse=True)
    last = torch.nn.Linear(len(head), 1, bias=False)
    with torch.no_grad():
        vectors.weight.copy_(torch.from_numpy(table))
        last.weight.copy_(torch.from_numpy(head[None, :]))
    optimizer = torch.optim.SGD([*vectors.parameters(), *last.parameters()], lr=RATE)
    words, target = torch.from_numpy(words), torch.from_numpy(target)

    def run():
        optimizer.zero_grad()
        error = last(vectors(words))[:, 0] - target
        value = (error * error).mean()
        value.backward()
        optimizer.step()
        return value.item()

    return run


def by_jax(jax, table, head, words, target):
    compiled = jax.jit(step_of(jax), donate_argnums=(0, 1))
    state = [jax.numpy.array(table), jax.numpy.array(head)]
    words, target = jax.numpy.asarray(words), jax.numpy.asarray(target)

    def run():
        value, *state[:] = jax.block_until_ready(compiled(*state, words, target))
        return value

    return run


def step_of(jax):
    slopes = jax.value_and_grad(peers.with_numpy(loss, jax.numpy), argnums=(0, 1))

    def step(table, head, words, target):
        value, (to_table, to_head) = slopes(table, head, words, target)
        return value, table - RATE * to_table, head - RATE * to_head

    return step


def case(rows: int) -> Case:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(rows, WIDTH)).astype(np.float32)
    head = (rng.normal(size=WIDTH) / WIDTH**0.5).astype(np.float32)
    given = rng.integers(0, rows, size=BATCH), rng.normal(size=BATCH).astype(np.float32)
    ways = {
        "pullback": ours(table.copy(), head.copy(), *given),
        "NumPy": by_hand(table.copy(), head.copy(), *given),
    }
    if torch := peers.torch():
        ways["torch"] = by_torch(torch, table, head, *given)
    if jax := peers.jax():
        ways["jax"] = by_jax(jax, table, head, *given)
    name = f"embedding step, table {rows:,} x {WIDTH}, batch {BATCH}, f32"
    return Case(name, ways, goals=(("torch", 5.0),), agree=1e-4, checked=3)


def cases(size: str) -> Iterator[Case]:
    for rows in (50,) if size == "tiny" else (20_000, 200_000):
        yield case(rows)
