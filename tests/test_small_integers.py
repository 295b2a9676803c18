"""Integers of 8 and 16 bits, which native code stores, moves and casts; and what NumPy computes inside operations."""

import numpy as np
import pytest

import pullback as torch
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, evaluate
from pullback.compiler.ir.types import CARRIED, STORED, Type, parse_type
from pullback.compiler.ops.elementwise import cast, select
from pullback.compiler.ops.external import Function, external, numbered
from pullback.compiler.ops.index import scatter_add, take
from pullback.compiler.ops.shape import concatenate, reshape, slice_, transpose
from pullback.compiler.ops.source import number
from tests.compare import assert_close

VALUES = np.array([0, 1, 7, 100, 127, 128, 200, 255, -1, -128, 300, -32768, 32767, 5, 6, 9, 11])


@pytest.mark.parametrize("source", STORED)
@pytest.mark.parametrize("target", STORED)
@pytest.mark.parametrize("size", [1, 5, 17])
def test_casts_are_numpys(source: str, target: str, size: int) -> None:
    array = VALUES[:size].astype(STORED[source])
    b = Builder("casts", [Type(source, (size,))])
    graph = b.finish([cast(b, b.params[0], dtype=target)])
    (made,) = compile_graph(graph).run([array])
    assert made.dtype == STORED[target]
    assert made.tolist() == evaluate(graph, [array])[0].tolist()
    if "f" not in target:
        assert made.tolist() == array.astype(np.int64).astype(STORED[target]).tolist()


@pytest.mark.parametrize("dtype", CARRIED)
def test_they_are_moved(dtype: str) -> None:
    array = VALUES[:12].astype(STORED[dtype]).reshape(3, 4)
    places = np.array([2, 0, 1, 1])
    b = Builder("moves", [Type(dtype, (3, 4)), Type("i64", (4,)), Type("bool", (4, 3))])
    x, where, mask = b.params
    turned = transpose(b, x, axes=(1, 0))
    chosen = select(b, mask, turned, number(b, 3, Type(dtype, (4, 3))))
    part = slice_(b, x, start=(0, 1), step=(2, 2), shape=(2, 2))
    rows = take(b, x, where, axis=0)
    graph = b.finish([chosen, part, rows, concatenate(b, x, x, axis=1), reshape(b, x, shape=(12,))])
    masks = np.arange(12).reshape(4, 3) % 2 == 0
    made = compile_graph(graph).run([array, places, masks])
    wanted = [np.where(masks, array.T, 3), array[::2, 1::2], array[places], np.hstack([array, array]), array.ravel()]
    for mine, theirs in zip(made, wanted, strict=True):
        assert mine.dtype == array.dtype and mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", CARRIED)
def test_their_types_have_names(dtype: str) -> None:
    assert parse_type(f"{dtype}[2,3]") == Type(dtype, (2, 3)) and Type(dtype).numpy == STORED[dtype]


def test_jit_refuses_them_as_before() -> None:
    with pytest.raises(TypeError, match="uint8"):
        torch.grad(lambda x: (x * x).sum())(np.ones(3, np.uint8))


# ---- what NumPy computes inside


@pytest.mark.parametrize("kind", ["f32", "i64"])
def test_one_row_is_added_where_python_says(kind: str) -> None:
    """The row, and not the index: an array of one element is a number to the code around a call of Python."""
    row, place = Type(kind, (1,)), Type("i64", (1,))
    b = Builder("added", [row, row])
    found = Function("first", lambda arrays: [np.zeros(1, np.int64)], [row], [place])
    (at,) = b.emit(external, b.params[0], name="first", number=numbered(found), types=(place,))
    graph = b.finish([scatter_add(b, number(b, 0, row), at, b.params[1], axis=0)])
    arrays = [np.array([3], STORED[kind]), np.array([7], STORED[kind])]
    assert compile_graph(graph).run(arrays)[0].tolist() == [7] == evaluate(graph, arrays)[0].tolist()


def test_a_sort_that_is_compiled_with_what_surrounds_it() -> None:
    """The second round is compiled as one kernel, the first runs op by op: the same values and gradients."""
    rounds = []
    for _ in range(4):
        x = torch.tensor([[3.0, -1.0, 2.0], [0.5, 8.0, 0.25]], requires_grad=True)
        values, indices = (x * 2).sort(1)
        y = (values * torch.arange(3.0)).sum() + (x.exp().topk(2).values).sum() + x.median() * 10
        (slope,) = torch.autograd.grad(y, x)
        rounds.append((y.item(), indices.tolist(), slope.tolist()))
    for value, order, slope in rounds[1:]:
        assert order == rounds[0][1] == [[1, 2, 0], [2, 0, 1]]
        assert_close(np.array(slope), np.array(rounds[0][2]), relative=1e-6, floor=1e-6)
        assert abs(value - rounds[0][0]) < 1e-3 * abs(value)


def test_what_is_sorted_has_second_derivatives() -> None:
    x = torch.tensor([2.0, 3.0, 1.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: v.sort().values ** 3, x)
    assert torch.autograd.gradgradcheck(lambda v: v.sort(descending=True).values ** 3, x)
