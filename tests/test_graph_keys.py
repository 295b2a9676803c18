"""Keys of graphs: equal where the printed graphs are equal without hints and lines, and different where they differ."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pullback.compiler.backend import listing
from pullback.compiler.ir.graph import Graph, Op, Value
from pullback.compiler.ir.key import by_list, graph_key
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.types import Size, Type
from tests.fuzz import inputs


def test_keys_tell_apart_what_printing_tells_apart() -> None:
    graphs = [parse(text) for text in inputs.TEXTS]
    assert len(graphs) > 20
    for one, other in itertools.product(graphs, repeat=2):
        same = show(one, bare=True) == show(other, bare=True)
        assert (graph_key(one) == graph_key(other)) == same


@pytest.mark.parametrize("change", [
    ("f64[3]", "f64[4]"), ("value=0.0", "value=-0.0"), ("value=0.0", "value=1"), ("add %0, %1", "add %1, %0"),
    ("return %2", "return %0"), ("add", "mul"), ("@f", "@g"),
])
def test_every_part_counts(change: tuple[str, str]) -> None:
    text = """graph @f(%a: f64[3]) {
  %0: f64[3] = sin %a
  %1: f64[3] = cos %a
  %2: f64[3] = add %0, %1
  %3: f64[] = const {type=f64[], value=0.0}
  return %2
}"""
    assert change[0] in text
    assert graph_key(parse(text)) != graph_key(parse(text.replace(*change)))
    named = text.replace("%0", "%hint").replace("sin %a", "sin %a  # here.py:3")
    assert graph_key(parse(text)) == graph_key(parse(named))


def test_keys_are_the_same_in_every_process() -> None:
    """Hashes of texts are not: no order may come from a set."""
    program = (
        "import hashlib\nfrom pullback.compiler.ir.key import graph_key\nfrom pullback.compiler.ir.text import parse\n"
        "from tests.fuzz import inputs\n"
        "print([hashlib.sha256(graph_key(parse(text)) or b'').hexdigest() for text in inputs.TEXTS])\n"
    )
    root = Path(__file__).resolve().parent.parent
    made = set()
    for seed in "012":
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        run = [sys.executable, "-c", program]
        made.add(subprocess.run(run, capture_output=True, text=True, env=env, check=True, timeout=120).stdout)
    assert len(made) == 1


# ---- one thing that is different


def payload(bits: int) -> float:
    """A NaN with these bits."""
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


NANS = payload(0x7FF8000000000000), payload(0x7FF8000000000001), payload(0xFFF8000000000000)
ALIKE: list[Any] = [
    0, 0.0, -0.0, False, (), (0,), (0.0,), (-0.0,), (False,), ((0,),), ((0.0,), 0), ((0.0, 0),), 1, 1.0, True, "1",
    "true", *NANS, *[(each,) for each in NANS], *[(0, (each, 1.0)) for each in NANS], "nan", "nan 7ff8000000000000",
    float("inf"), -float("inf"), Size.named("n"), Size.named("m"), Type("f64"), Type("f32"), Type("f64", (1,)),
    Type("f64", (Size.named("n"),)), "f64[]", "a\nb", "a", "a,b", ("a", "b"), ("a,b",), "", ("",), 2**53, 2**53 + 1.0,
]
"""Values of an attribute that are easily taken for each other."""


def changed(graph: Graph) -> Iterator[Graph]:
    """Graphs that differ from this one in one thing."""
    value = Value(Type("f64"))
    yield Graph(f"{graph.name}_", graph.params, graph.body, graph.results)
    yield Graph(graph.name, (*graph.params, value), graph.body, graph.results)
    for k in range(len(graph.results)):
        yield Graph(graph.name, graph.params, graph.body, (*graph.results[:k], *graph.results[k + 1 :]))
    if len(set(graph.results)) > 1:
        yield Graph(graph.name, graph.params, graph.body, graph.results[::-1])
    for k, op in enumerate(graph.body):
        for other in other_operations(op):
            yield Graph(graph.name, graph.params, (*graph.body[:k], other, *graph.body[k + 1 :]), graph.results)


def other_operations(op: Op) -> Iterator[Op]:
    """Operations that differ from this one in one thing, and define the same values."""
    yield Op(REGISTRY["sin" if op.prim.name == "cos" else "cos"], op.args, op.attrs, op.regions, op.results)
    yield Op(op.prim, op.args, {**op.attrs, "more": 0}, op.regions, op.results)
    yield Op(op.prim, op.args, op.attrs, op.regions, (*op.results, Value(Type("f64"))))
    if op.args:
        yield Op(op.prim, op.args[1:], op.attrs, op.regions, op.results)
        yield Op(op.prim, (*op.args, op.args[0]), op.attrs, op.regions, op.results)
    if op.args != op.args[::-1]:
        yield Op(op.prim, op.args[::-1], op.attrs, op.regions, op.results)
    for name in op.attrs:
        yield Op(op.prim, op.args, {k: v for k, v in op.attrs.items() if k != name}, op.regions, op.results)
        renamed = {k if k != name else f"{k}_": v for k, v in op.attrs.items()}
        yield Op(op.prim, op.args, renamed, op.regions, op.results)
        yield Op(op.prim, op.args, {**op.attrs, name: "another"}, op.regions, op.results)
    for k, region in enumerate(op.regions):
        for other in changed(region):
            yield Op(op.prim, op.args, op.attrs, (*op.regions[:k], other, *op.regions[k + 1 :]), op.results)
    if op.regions:
        yield Op(op.prim, op.args, op.attrs, op.regions[1:], op.results)


@pytest.fixture(params=[False, True], ids=["listed", "native"])
def keyed(request, monkeypatch):
    """The key of a graph, by each of the two listings."""
    monkeypatch.setattr(listing, "LONG", 0)
    return lambda graph: graph_key(graph, listing.listing if request.param else by_list)


def test_graphs_that_differ_in_one_thing_have_different_keys(keyed) -> None:
    for text in inputs.TEXTS:
        graph = parse(text)
        keys = [key for key in map(keyed, (graph, *changed(graph))) if key is not None]
        assert len(set(keys)) == len(keys), text


def test_values_of_attributes_that_look_alike_have_different_keys(keyed) -> None:
    def graph(*values: Any) -> Graph:
        made = [Value(Type("f64")) for _ in values]
        body = [Op(REGISTRY["const"], (), {"value": each}, (), (to,)) for each, to in zip(values, made, strict=True)]
        return Graph("f", (), tuple(body), tuple(made))

    pairs = [*itertools.product(ALIKE, repeat=2)]
    assert len({keyed(graph(*pair)) for pair in pairs}) == len(pairs)
    assert keyed(graph(0.0, NANS[1], "x")) == keyed(graph(-0.0 + 0.0, payload(0x7FF8000000000001), "x"))


def test_the_order_in_which_attributes_are_given_does_not_count(keyed) -> None:
    def graph(*attrs: dict[str, Any]) -> Graph:
        made = [Value(Type("f64")) for _ in attrs]
        body = [Op(REGISTRY["const"], (), each, (), (to,)) for each, to in zip(attrs, made, strict=True)]
        return Graph("f", (), tuple(body), tuple(made))

    one, other = {"type": Type("f64"), "value": 2.0}, {"value": 2.0, "type": Type("f64")}
    assert keyed(graph(one, one)) == keyed(graph(other, one)) == keyed(graph(one, other))
    assert keyed(graph({"a": 1, "b": 2}, {"b": 1})) == keyed(graph({"b": 2, "a": 1}, {"b": 1}))
    assert keyed(graph({"a": 1, "b": 2}, {"b": 1})) != keyed(graph({"a": 2, "b": 1}, {"b": 1}))
    assert keyed(graph({"a": 1}, {"b": 2, "c": 0})) != keyed(graph({"a": 1, "b": 2}, {"c": 0}))
    copy = "".join(["ty", "pe"])  # the same text in another object
    assert keyed(graph(one, {copy: Type("f64"), "value": 2.0})) == keyed(graph(one, one))


def test_native_code_lists_what_is_listed_here() -> None:
    pending = [parse(text) for text in inputs.TEXTS]
    while pending:
        graph = pending.pop()
        found, wanted = listing._native(graph), by_list(graph)
        assert found is not None
        named: list[tuple[str, Any, Any]] = [*zip(wanted._fields, found, wanted, strict=True)][:-1]
        named += zip(wanted.attributes._fields, found.attributes, wanted.attributes, strict=True)
        for name, one, other in named:
            assert len(one) == len(other) and all(a is b or a == b for a, b in zip(one, other, strict=True)), name
        pending += [region for op in graph.body for region in op.regions]


def test_native_code_leaves_alone_what_is_no_graph() -> None:
    value, other = Value(Type("f64")), Value(Type("f64"))
    fine = Op(REGISTRY["sin"], (value,), {}, (), (other,))

    class Further(Op):
        __slots__ = ()

    wrong: list[Any] = [
        Op(REGISTRY["sin"], [value], {}, (), (other,)),  # type: ignore[arg-type]
        Op(REGISTRY["sin"], (value,), {}, (), [other]),  # type: ignore[arg-type]
        Op(REGISTRY["sin"], (value,), {}, (), (3,)),  # type: ignore[arg-type]
        Op(REGISTRY["sin"], (value,), {}, (), (value,)), Op(REGISTRY["sin"], (Value(Type("f64")),), {}, (), (other,)),
        Op(REGISTRY["sin"], (value,), None, (), (other,)), Further(*[getattr(fine, k) for k in Op.__slots__[:6]]), None,  # type: ignore[arg-type]
        object.__new__(Op),
    ]
    assert listing._native(Graph("f", (value,), (fine,), (other,))) is not None
    for op in wrong:
        assert listing._native(Graph("f", (value,), (op,), (other,))) is None
    assert listing._native(Graph("f", (value, value), (fine,), (other,))) is None
    assert listing._native(Graph("f", (value,), (fine,), (Value(Type("f64")),))) is None


def test_a_long_graph_has_the_same_key_by_native_code() -> None:
    value = Value(Type("f64"))
    body, last = [], value
    for k in range(2 * listing.LONG):
        known = Value(Type("f64"))
        body.append(Op(REGISTRY["const"], (), {"value": float(k % 7), "type": known.type}, (), (known,)))
        made = Value(Type("f64"))
        body.append(Op(REGISTRY["mul" if k % 3 else "add"], (last, known), {}, (), (made,)))
        last = made
    graph = Graph("f", (value,), tuple(body), (last,))
    assert graph_key(graph, listing.listing) == graph_key(graph) == graph_key(parse(show(graph)))
