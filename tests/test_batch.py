"""Every primitive for many lanes at once: what each lane gets is what it would get alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.primitive import REGISTRY, NotBatchable
from pullback.compiler.ir.types import Type, type_of
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.control import Region
from pullback.compiler.passes.batch import batched

LANES = 4
#: primitives without a rule, and why that is right
WITHOUT = {
    "correlate": "it has an axis of images already",
    "guard": "numbers that a trace was made for are the same in all lanes",
    "loop": "its number of rounds differs from lane to lane",
}
#: which fail to batch where lanes part at their starts
PARTED = {"update", "bump"}


def operation(name: str, types: list[Type], attrs: dict) -> Graph:
    prim = REGISTRY[name]
    regions = prim.sample_regions() if isinstance(prim, Region) else ()
    b = Builder(name, types)
    return b.finish(b.emit(prim, *b.params, regions=regions, **attrs))


def for_lanes(graph: Graph, flags: tuple[bool, ...]) -> tuple[Graph, list[bool]]:
    """The graph for LANES lanes."""
    b = Builder("lanes")
    pairs = zip((p.type for p in graph.params), flags, strict=True)
    params = [b.param(t.with_shape((LANES, *t.shape)) if f else t) for t, f in pairs]
    results, have = batched(b, graph, params, flags, LANES)
    return verify(b.finish(results)), have


def lanes_of(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """Other arguments of the same kind: shuffled, so that they stay in their domain."""
    if a.dtype == bool or (a.ndim == 0 and a.dtype.kind == "i"):
        made = [np.roll(a.ravel(), k).reshape(a.shape) if a.ndim else np.asarray(a + k, a.dtype) for k in range(LANES)]
        return np.stack([np.asarray(m, a.dtype) for m in made])
    if a.ndim == 0:
        return np.stack([a * (1 + 0.01 * k) for k in range(LANES)]).astype(a.dtype)
    return np.stack([rng.permuted(a) for _ in range(LANES)])


names = [name for name in sorted(REGISTRY) if REGISTRY[name].samples(np.random.default_rng(0)) and name not in WITHOUT]


@pytest.mark.parametrize("name", names)
def test_lanes(name: str) -> None:
    rng = np.random.default_rng(3)
    done = 0
    for args, attrs in REGISTRY[name].samples(np.random.default_rng(5)):
        args = [np.asarray(a) for a in args]
        graph = operation(name, [type_of(a) for a in args], attrs)
        for flags in itertools.product((False, True), repeat=len(args)):
            if not any(flags) or len(args) > 4:
                continue
            given = [lanes_of(rng, a) if f else a for a, f in zip(args, flags, strict=True)]
            try:
                wide, have = for_lanes(graph, flags)
            except NotBatchable:
                assert (name in PARTED and any(flags[2:])) or (name == "scan" and flags[0]) or "widths" in attrs
                continue
            found = evaluate(wide, given)
            for lane in range(LANES):
                mine = [a[lane] if f else a for a, f in zip(given, flags, strict=True)]
                for want, got, is_wide in zip(evaluate(graph, mine), found, have, strict=True):
                    close = 1e-5 if want.dtype == np.float32 else 1e-13
                    np.testing.assert_allclose(got[lane] if is_wide else got, want, rtol=close, atol=close)
            done += 1
    assert done or not args


SAID = {"loop": "number of rounds", "guard": "made for differs from lane to lane"}


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_refused(name: str) -> None:
    args, attrs = REGISTRY[name].samples(np.random.default_rng(0))[0]
    graph = operation(name, [type_of(a) for a in args], attrs)
    with pytest.raises(NotBatchable, match=SAID.get(name, name)):
        for_lanes(graph, (True,) * len(args))


def test_evenly_moving_reads_are_slices() -> None:
    """x[i] and x[2*i + 1] of all lanes are slices, not looked up."""
    b = Builder("f", [Type("f64", (20,)), Type("i64")], ["x", "i"])
    x, i = b.params
    P = REGISTRY
    twice = P["add"](b, P["mul"](b, i, b.emit(P["const"], type=Type("i64"), value=2)[0]), one(b))
    graph = b.finish([P["read"](b, x, at, axes=(0,), widths=(-1,)) for at in (i, twice)])
    b = Builder("lanes", [Type("f64", (20,))])
    lane = b.emit(P["iota"], type=Type("i64", (8,)), axis=0)[0]
    results, _ = batched(b, graph, [b.params[0], lane], [False, True], 8)
    wide = verify(b.finish(results))
    assert "take" not in {op.prim.name for op in wide.body}
    given = np.arange(20.0)
    first, second = evaluate(wide, [given])
    assert first.tolist() == given[:8].tolist()
    assert second.tolist() == given[1:17:2].tolist()


def one(b: Builder):
    return b.emit(REGISTRY["const"], type=Type("i64"), value=1)[0]
