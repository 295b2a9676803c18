"""Recurrent layers: what a cell does in a step, and a layer as a loop of the graph over time.

What the input contributes to all gates is one product for all steps; the loop carries the state and puts each output
into its place:

    %g = contract %x, %w_ih ...
    %ys, %h = scan 50, %zeros, %h0, %g, %w_hh { ... update, read, contract, tanh }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....compiler.ir.graph import Builder
from ....compiler.ir.types import Type
from ....compiler.ops import control, memory
from ....compiler.ops.contract import contract
from ....compiler.ops.source import number
from ....compiler.ops.term import Terms
from ...tensor.calls.calls import recorded
from ...tensor.face.tensor import Tensor
from ...tensor.ops.folds.reductions import back
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply_all, wrap
from .terms import along, part, shape_of

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
INDEX = Type("i64")
ROW: dict[str, Any] = {"axes": (0,), "widths": (memory.DROPPED,)}


def _product(m: Any, x: Any, w: Any) -> Any:
    """x w^T over the last axis of both."""
    return m(contract(m.b, x.value, w.value, left=(len(shape_of(x)) - 1,), right=(1,)))


def _with_bias(m: Any, x: Any, bias: Any) -> Any:
    shape = shape_of(x)
    return x if bias is None else x + along(m, bias, shape, len(shape) - 1)


def _pieces(m: Any, x: Any, count: int) -> list[Any]:
    axis = len(shape_of(x)) - 1
    size = shape_of(x)[axis] // count
    return [part(m, x, axis, k * size, size) for k in range(count)]


def _lstm(m: Any, outer: Any, inner: Any, state: Sequence[Any]) -> list[Any]:
    i, f, g, o = _pieces(m, outer + inner, 4)
    c = m.sigmoid(f) * state[1] + m.sigmoid(i) * m.tanh(g)
    return [m.sigmoid(o) * m.tanh(c), c]


def _gru(m: Any, outer: Any, inner: Any, state: Sequence[Any]) -> list[Any]:
    (r, z, n), (ri, zi, ni) = _pieces(m, outer, 3), _pieces(m, inner, 3)
    z = m.sigmoid(z + zi)
    n = m.tanh(n + m.sigmoid(r + ri) * ni)
    return [n + z * (state[0] - n)]


def _relu(m: Any, x: Any) -> Any:
    return m.select(m.le(x, 0), 0, x)


STEPS: dict[str, Callable[..., list[Any]]] = {
    "RNN_TANH": lambda m, outer, inner, state: [m.tanh(outer + inner)],
    "RNN_RELU": lambda m, outer, inner, state: [_relu(m, outer + inner)],
    "LSTM": _lstm,
    "GRU": _gru,
}
"""New states, the output first, from what the input and what the output before contribute to the gates."""


def states_of(mode: str) -> int:
    """How many tensors are the state: an LSTM has its cell besides its output."""
    return 2 if mode == "LSTM" else 1


def _cell(m: Any, x: Any, *rest: Any) -> Any:
    *given, mode, biased = rest
    n = states_of(mode)
    state, (w_in, w_out, *biases) = given[:n], given[n:]
    b_in, b_out = biases if biased else (None, None)
    outer = _with_bias(m, _product(m, x, w_in), b_in)
    inner = _with_bias(m, _product(m, state[0], w_out), b_out)
    made = STEPS[mode](m, outer, inner, state)
    return tuple(made) if len(made) > 1 else made[0]


NAMES = {"RNN_TANH": "TanhBackward0", "RNN_RELU": "ReluBackward0", "LSTM": "MulBackward0", "GRU": "AddBackward0"}
CELLS = {mode: Operation(f"{mode.lower()}_cell", node, _cell) for mode, node in NAMES.items()}


@recorded
def cell(mode: str, x: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor]) -> list[Tensor]:
    """One step for [batch, n]; `weights` are w_ih, w_hh and, if there are any, b_ih and b_hh."""
    cells, node = apply_all(CELLS[mode], (x, *state, *weights), (mode, len(weights) > 2))
    return [wrap(c, node, k) for k, c in enumerate(cells)]


def _body(mode: str, types: list[Type], names: list[str]) -> Any:
    """A round: from (i, outputs, states, contributions of the input, w_hh ...) to outputs and states."""
    b = Builder(mode.lower(), [INDEX, *types])
    m = Terms(b)
    i, ys, *given = map(m, b.params)
    n = states_of(mode)
    state, more = given[:n], dict(zip(names, given[n:], strict=True))
    outer = m(memory.read(b, more["outer"].value, i.value, **ROW))
    inner = _with_bias(m, _product(m, state[0], more["w_hh"]), more.get("b_hh"))
    made = STEPS[mode](m, outer, inner, state)
    if "w_hr" in more:
        made[0] = _product(m, made[0], more["w_hr"])
    y = made[0]
    if "lengths" in more:
        shape = shape_of(y)
        there = m.gt(more["lengths"], back(m, i, shape_of(more["lengths"]), (0,)))
        made = [m.select(back(m, there, shape_of(s), (1,)), s, old) for s, old in zip(made, state, strict=True)]
        y = m.select(back(m, there, shape, (1,)), y, 0)
    put = memory.update(b, ys.value, y.value, i.value, **ROW)
    return b.finish([put, *(s.value for s in made)])


def _layer(m: Any, x: Any, *rest: Any) -> Any:
    *given, mode, names, backwards = rest
    n = states_of(mode)
    state, more = given[:n], dict(zip(names, given[n:], strict=True))
    outer = _with_bias(m, _product(m, x, more.pop("w_ih")), more.pop("b_ih", None))
    steps, batch, _ = shape_of(x)
    if mode != "GRU" and "b_hh" in more:
        outer = _with_bias(m, outer, more.pop("b_hh"))
    more["outer"] = outer
    ys = number(m.b, 0.0, outer.value.type.with_shape((steps, batch, shape_of(state[0])[1])))
    args = [ys, *(s.value for s in state), *(v.value for v in more.values())]
    body = _body(mode, [a.type for a in args], list(more))
    turned = {"backwards": True} if backwards else {}
    made = m.b.emit(control.scan, number(m.b, steps, INDEX), *args, regions=[body], carries=1 + n, **turned)
    return tuple(map(m, made))


LAYERS = {mode: Operation(mode.lower(), f"{mode.title().replace('_', '')}Backward0", _layer) for mode in GATES}


@recorded
def layer(
    mode: str, x: Tensor, states: Sequence[Tensor], at: int, names: tuple[str, ...], weights: Sequence[Tensor],
    backwards: bool = False, batch_first: bool = False,
) -> list[Tensor]:  # fmt: skip
    """The outputs [steps, batch, n] of one layer in one direction, and its last states.

    x        [steps, batch, n], or as `batch_first` says
    states   of all layers; this one's are number `at`
    names    of the weights: w_ih, w_hh, b_ih, b_hh, w_hr and lengths (of the sequences, for those that end early)
    """
    given = (x.transpose(0, 1) if batch_first else x, *[s[at] for s in states], *weights)
    cells, node = apply_all(LAYERS[mode], given, (mode, names, backwards))
    return [wrap(c, node, k) for k, c in enumerate(cells)]
