"""Programs that write in place and must fail at each step, as those of `inplace_programs`."""

from __future__ import annotations

from typing import Any

import pullback as torch
from tests.inplace_programs import Program

WRONG: dict[str, Program] = {}


def wrong(program: Program) -> Program:
    WRONG[program.__name__] = program
    return program


@wrong
def result_that_was_saved(x: Any, w: Any, v: Any) -> Any:
    y = (x @ w).sigmoid()
    y.mul_(2)
    return y.sum()


@wrong
def result_of_writing_that_was_saved(x: Any, w: Any, v: Any) -> Any:
    y = (x @ w).sigmoid_()
    y += v[0]
    return y.sum()


@wrong
def argument_that_was_saved(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    y = h * v[0]
    h += y
    return h.pow(2).sum()


@wrong
def in_a_loop(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    for _ in range(3):
        h += (h @ v).sin()
    return h.sum()


@wrong
def saved_before_it_has_a_history(x: Any, w: Any, v: Any) -> Any:
    h = x * 2
    y = (x @ w * h).sum()
    h.add_(x @ v)
    return y + h.sum()


@wrong
def written_without_gradients(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    y = h * h
    with torch.no_grad():
        h.mul_(2)
    return y.sum()


@wrong
def view_that_was_saved(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    part = h[1:3]
    y = (part * part).sum()
    del part
    with torch.no_grad():
        h.mul_(2)
    return y + h.sum()


@wrong
def part_that_was_saved(x: Any, w: Any, v: Any) -> Any:
    h, k = x @ w, x * v.sum()
    h *= k[0]
    k.add_(1)
    return h.sum()


@wrong
def freed(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h.pow(2).sum().backward()
    h.mul_(v.sum())
    return h.sum()


@wrong
def leaf_with_a_history(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    w.mul_(2)
    return h.sum()


@wrong
def shape_that_does_not_fit(x: Any, w: Any, v: Any) -> Any:
    h = (x @ w)[0] * 1
    h += x
    return h.sum()


@wrong
def dtype_that_does_not_fit(x: Any, w: Any, v: Any) -> Any:
    h = torch.zeros(5, 4, dtype=torch.int64)
    h += x @ w
    return h.sum()
