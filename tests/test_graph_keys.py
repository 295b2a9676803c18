"""Keys of graphs: equal where the printed graphs are equal without hints and lines, and different where they differ."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pullback.compiler.ir.key import graph_key
from pullback.compiler.ir.text import parse, show
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
