"""Functions of networks as native code: the same numbers as their primitives' meanings, and second derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.autograd import gradcheck, gradgradcheck
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse
from pullback.nn import functional as F

# Two axes with one stride: the row i, whose axis is cut away, and j, which is 2 wherever the buffer is read.
ROWS_APART = """graph @rows(%0: f32[2,7,5]) {
  %1: f32[2,2,5] = slice %0 {shape=(2, 2, 5), start=(0, 5, 0), step=(1, 1, 1)}
  %2: f32[2,5] = sum %1 {axes=(1,)}
  %3: f32[2,1,5] = reshape %2 {shape=(2, 1, 5)}
  %4: f32[2,3,5] = pad %3 {shape=(2, 3, 5), start=(0, 2, 0), step=(1, 1, 1)}
  %5: f32[2,3,1] = slice %4 {shape=(2, 3, 1), start=(0, 0, 0), step=(1, 1, 1)}
  %6: f32[2,3,4] = pad %5 {shape=(2, 3, 4), start=(0, 0, 0), step=(1, 1, 1)}
  return %6
}"""


def test_a_row_that_another_axis_points_at() -> None:
    graph = parse(ROWS_APART)
    x = np.random.default_rng(0).normal(size=(2, 7, 5)).astype(np.float32)
    np.testing.assert_allclose(compile_graph(graph).run([x])[0], evaluate(graph, [x])[0], rtol=1e-6)


def leaf(*shape: int) -> Any:
    return pullback.tensor(np.random.default_rng(sum(shape)).normal(size=shape)).requires_grad_()


def lstm(x: Any, w: Any, v: Any) -> Any:
    net = pullback.nn.LSTM(3, 2, bias=False).double()
    names = {"weight_ih_l0": w, "weight_hh_l0": v}
    return pullback.func.functional_call(net, names, (x,))[0]


FUNCTIONS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), (leaf(3, 4), leaf(4), leaf(4))),
    ("batch_norm", lambda x, w: F.batch_norm(x, None, None, w, None, True), (leaf(4, 3), leaf(3))),
    ("group_norm", lambda x: F.group_norm(x, 2), (leaf(2, 4, 3),)),
    ("replicate", lambda x: F.pad(x, (1, 0, 2, 2), "replicate") ** 2, (leaf(2, 3, 4),)),
    ("reflect", lambda x: F.pad(x, (2, 1), "reflect") ** 2, (leaf(2, 4),)),
    ("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (leaf(2, 3, 2),) * 3),
    ("bilinear", lambda x: F.interpolate(x, (5, 3), mode="bilinear") ** 2, (leaf(1, 1, 3, 4),)),
    ("grid", lambda x, g: F.grid_sample(x, g, align_corners=False), (leaf(1, 1, 4, 4), leaf(1, 2, 2, 2) * 0.3)),
    ("transposed", lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), (leaf(1, 2, 4), leaf(2, 2, 3))),
    ("fold", lambda x: F.fold(F.unfold(x, 2), (3, 4), 2) ** 2, (leaf(1, 1, 3, 4),)),
    ("lstm", lstm, (leaf(4, 2, 3), leaf(8, 3), leaf(8, 2))),
]


@pytest.mark.parametrize(("function", "inputs"), [f[1:] for f in FUNCTIONS], ids=[f[0] for f in FUNCTIONS])
def test_first_and_second_derivatives(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    leaves = tuple([x.detach().requires_grad_() for x in inputs])
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves)


def test_a_network_learns() -> None:
    """An LSTM, attention and norms together come down a loss."""
    pullback.manual_seed(0)
    nn = pullback.nn
    lstm, attention, norm, last = nn.LSTM(3, 8), nn.MultiheadAttention(8, 2), nn.LayerNorm(8), nn.Linear(8, 1)
    net = nn.ModuleList([lstm, attention, norm, last])
    optimizer = pullback.optim.Adam(net.parameters(), lr=1e-2)
    x = pullback.randn(6, 10, 3)
    y = x.sum((0, 2)).sign()[:, None]
    losses = []
    for _ in range(30):
        h, _ = lstm(x)
        z = norm(h + attention(h, h, h, need_weights=False)[0])
        loss = F.binary_cross_entropy_with_logits(last(z.mean(0)), (y + 1) / 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
