"""Slices of concatenations and of padded values are slices of their parts, in values and before derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes.algebra import algebra
from pullback.compiler.passes.cleanup import dead
from pullback.compiler.passes.pieces import pieces

JOINED = """graph @f(%x: f64[2,3], %y: f64[2,4]) {{
  %0: f64[2,7] = concatenate %x, %y {{axis=1}}
  %1: f64[{type}] = slice %0 {{shape=({shape}), start=({start}), step=({step})}}
  return %1
}}"""
PADDED = """graph @f(%x: f64[2,3]) {{
  %0: f64[2,9] = pad %x {{shape=(2, 9), start=(0, 2), step=(1, {step0})}}
  %1: f64[{type}] = slice %0 {{shape=({shape}), start=({start}), step=({step})}}
  return %1
}}"""


def _names(graph):
    return [op.prim.name for op in graph.body]


@pytest.mark.parametrize(("shape", "start", "step", "left"), [
    ("2, 3", "0, 0", "1, 1", []), ("2, 4", "0, 3", "1, 1", []), ("1, 2", "1, 4", "1, 1", ["slice"]),
    ("2, 2", "1, 5", "-1, -2", ["slice"]), ("2, 2", "0, 2", "1, 1", ["concatenate", "slice"]),
    ("2, 2", "0, 5", "1, -4", ["concatenate", "slice"]), ("1, 1", "0, 3", "1, 1", ["slice"]),
])  # fmt: skip
def test_of_a_concatenation(shape, start, step, left):
    graph = parse(JOINED.format(type=shape.replace(" ", ""), shape=shape, start=start, step=step))
    rng = np.random.default_rng(0)
    args = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    for change in (pieces, algebra):
        changed = dead(change(graph))
        verify(changed)
        assert _names(changed) == left
        np.testing.assert_array_equal(evaluate(changed, args)[0], evaluate(graph, args)[0])


@pytest.mark.parametrize(("shape", "start", "step", "step0", "left"), [
    ("2, 3", "0, 2", "1, 1", 1, []), ("2, 2", "0, 0", "1, 1", 1, ["const"]), ("2, 3", "0, 6", "1, 1", 1, ["const"]),
    ("1, 2", "1, 4", "1, -1", 1, ["slice"]), ("2, 3", "0, 1", "1, 1", 1, ["pad", "slice"]),
    ("2, 3", "0, 2", "1, 2", 2, ["pad", "slice"]), ("2, 2", "0, 7", "1, 1", 2, ["const"]),
])  # fmt: skip
def test_of_what_is_padded(shape, start, step, step0, left):
    graph = parse(PADDED.format(type=shape.replace(" ", ""), shape=shape, start=start, step=step, step0=step0))
    changed = dead(algebra(graph))
    verify(changed)
    assert _names(changed) == left
    args = (np.random.default_rng(0).normal(size=(2, 3)),)
    np.testing.assert_array_equal(evaluate(changed, args)[0], evaluate(graph, args)[0])


def test_what_is_not_read_is_neither_made_nor_differentiated():
    a = np.random.default_rng(1).normal(size=(7, 3))

    def volume(a):
        return np.sum(np.abs(np.linalg.qr(a, "complete")[0][:, :3])) + np.sum(np.linalg.svd(a)[0][:, :3] ** 2)

    for made in (jit(volume), grad(volume)):
        made(a)
        assert '"complement"' not in str(made.ir("optimized"))
    h = 1e-6
    for i, j in ((0, 0), (4, 2)):
        step = np.zeros_like(a)
        step[i, j] = h
        change = (volume(a + step) - volume(a - step)) / (2 * h)
        assert abs(grad(volume)(a)[i, j] - change) < 1e-8


@pytest.mark.parametrize(("starts", "shapes", "axis", "whole"), [
    (((0, 0), (0, 2)), ((2, 2), (2, 5)), 1, True), (((0, 0), (1, 0)), ((1, 7), (1, 7)), 0, True),
    (((0, 2), (0, 0)), ((2, 5), (2, 2)), 1, False), (((0, 0), (0, 3)), ((2, 3), (2, 4)), 1, True),
    (((0, 0), (0, 1)), ((2, 3), (2, 4)), 1, False), (((1, 0), (1, 2)), ((1, 2), (1, 5)), 1, False),
])  # fmt: skip
def test_slices_that_are_put_together_again(starts, shapes, axis, whole):
    """They are the whole only if all of it is there, in order."""
    sizes = [max(s[k] for s in shapes) if k != axis else sum(s[k] for s in shapes) for k in (0, 1)]
    cuts = "\n".join(
        f"  %{k}: f64[{m},{n}] = slice %x {{shape=({m}, {n}), start={start}, step=(1, 1)}}"
        for k, (start, (m, n)) in enumerate(zip(starts, shapes, strict=True))
    )
    made = f"  %2: f64[{sizes[0]},{sizes[1]}] = concatenate %0, %1 {{axis={axis}}}"
    graph = parse(f"graph @f(%x: f64[2,7]) {{\n{cuts}\n{made}\n  return %2\n}}")
    x = np.random.default_rng(0).normal(size=(2, 7))
    tidy = verify(dead(algebra(graph)))
    assert (tidy.body == ()) is whole
    np.testing.assert_array_equal(evaluate(tidy, [x])[0], evaluate(graph, [x])[0])
