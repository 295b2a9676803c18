"""Golden files: a sentence, the passes, a graph, `----`, and exactly what the passes make of it.

    # Equal operations are computed once.
    # passes: common

Both graphs are verified and run: a pass must keep every bit (a product of matrices its rounding errors), and what
the adjoint gives is compared with exact differences.  `--bless` rewrites what stands below the dashes.  Below `llvm`
stand lines that must occur in this order, with * for anything, because the rest depends on the processor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

from pullback.compiler.backend.emit import emit
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.verify import verify
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.show import show_program
from pullback.compiler.passes import adjoint, dead, value_and_grad
from pullback.compiler.passes.pipeline import PIPELINE, optimize
from tests.compare import assert_all_close
from tests.exact import bounds, pulled_wrong

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(p.name for p in FOLDER.glob("*.txt"))
KEEPING = {f.__name__: f for f in (*PIPELINE, dead, optimize)}
DERIVING = {f.__name__: f for f in (adjoint, value_and_grad)}
TEXTS = ("loops", "llvm")
VECTOR_BITS = 256


def split(text: str) -> tuple[str, list[str], str, str]:
    """Sentence, passes, the text above the dashes and the one below."""
    head, _, below = text.partition("\n----\n")
    match = re.fullmatch(r"((?:# .+\n)+?)# passes: (.+)\n(graph @.*)", head, re.DOTALL)
    assert match, "a golden begins with '# sentence', '# passes: names' and a graph"
    return match[1], re.findall(r"\w+(?:\([\d, ]*\))?", match[2]), match[3], below


def arguments(graph: Graph, rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers around 1, and indices below 2."""
    made = []
    for p in graph.params:
        shape = p.type.static_shape()
        draw = rng.uniform(-0.5, 2.5, shape) if p.type.is_float else rng.integers(0, 2, shape)
        made.append(np.asarray(draw).astype(p.type.numpy))
    return made


def keeps(before: Graph, after: Graph, rng: np.random.Generator) -> None:
    """A pass changes no bit; matrix products may sum in another order."""
    for _ in range(3):
        args = arguments(before, rng)
        floors = bounds(before, args)[1] if "contract" in show(before) else [0.0] * len(before.results)
        assert_all_close(evaluate(after, args), evaluate(before, args), floors=floors)


def pulls_back(before: Graph, after: Graph, name: str, wrt: list[int], rng: np.random.Generator) -> None:
    many = len(before.results)
    for _ in range(3):
        args = arguments(before, rng)
        if name == "adjoint":
            weights = [
                np.asarray(rng.normal(size=r.type.static_shape())).astype(r.type.numpy)
                for r in before.results
                if r.type.is_float
            ]
            values, errors = bounds(after, [*args, *weights])
        else:
            weights = [
                np.full(r.type.static_shape(), k == 0, r.type.numpy)
                for k, r in enumerate(before.results)
                if r.type.is_float
            ]
            values, errors = bounds(after, args)
        assert_all_close(values[:many], evaluate(before, args))
        assert not pulled_wrong(before, args, wrt, weights, values[many:], errors[many:], rng)


def applied(graph: Graph, each: str, rng: np.random.Generator) -> Graph:
    """The graph that one pass makes, verified and compared with what it was made of."""
    name, _, rest = each.partition("(")
    if name in KEEPING:
        made = verify(KEEPING[name](graph))
        keeps(graph, made, rng)
    else:
        wrt = [int(k) for k in re.findall(r"\d+", rest)]
        made = verify(DERIVING[name](graph, wrt))
        pulls_back(graph, made, name, wrt, rng)
    return made


@pytest.mark.parametrize("name", FILES)
def test_golden(name: str, golden: Callable[[str, str], None], rng: np.random.Generator) -> None:
    sentence, passes, above, below = split((FOLDER / name).read_text(encoding="utf-8"))
    graph = verify(parse(above))
    for each in passes:
        if each not in TEXTS:
            graph = applied(graph, each, rng)
    if passes[-1] in TEXTS:
        args = arguments(graph, rng)
        _, floors = bounds(graph, args)
        assert_all_close(compile_graph(graph).run(args), evaluate(graph, args), floors=[2 * f for f in floors])
    if passes[-1] == "llvm":
        assert_in_order(below.splitlines(), emit(lower(graph, VECTOR_BITS), "kernel", fma=True).text)
        return
    made = show_program(lower(graph, VECTOR_BITS)) if passes[-1] == "loops" else show(graph)
    golden(name, f"{sentence}# passes: {', '.join(passes)}\n{show(parse(above))}\n----\n{made}\n")


def assert_in_order(wanted: list[str], text: str) -> None:
    lines = iter(line.strip() for line in text.splitlines())
    for each in wanted:
        assert any(fnmatchcase(line, each.strip().replace("[", "[[]")) for line in lines), f"no {each}\n{text}"


def test_every_pass_and_stage_has_a_golden() -> None:
    used = {each.partition("(")[0] for name in FILES for each in split((FOLDER / name).read_text())[1]}
    assert {f.__name__ for f in PIPELINE} <= used
    assert used == {*KEEPING, *DERIVING, *TEXTS}


def test_a_changed_golden_is_found(golden: Callable[[str, str], None], bless: bool) -> None:
    text = (FOLDER / "common.txt").read_text(encoding="utf-8")
    golden("common.txt", text)
    if not bless:
        with pytest.raises(AssertionError, match=r"common\.txt"):
            golden("common.txt", text.replace("mul", "add"))
    with pytest.raises(AssertionError):
        keeps(parse(split(text)[2]), parse(split(text)[2].replace("mul", "add")), np.random.default_rng(1))
