"""What strangers may hand in, graphs as text and modules as bytes, spoilt at random: only the declared error may come.

    python -m tests.fuzz.inputs 1000000 0       a million of them, from this number on, one half of each kind

Ends with an exception that shows the input where anything else came, or where one took long.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pullback.compiler.backend.entries import specs
from pullback.compiler.backend.extension import MAGIC, Function, KernelError, seal, unpack
from pullback.compiler.backend.extension.carried import pack
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.text import ParseError, parse, show
from pullback.compiler.ir.verify import verify

PATIENCE = 3.0
"""Seconds of work on one input, on a machine that does other things too."""

GOLDEN = Path(__file__).parents[1] / "golden"
TEXTS = [text for path in sorted(GOLDEN.glob("*.txt")) for text in re.findall(r"(?ms)^graph @.*?^\}", path.read_text())]

NASTY = [
    "(", ")", "{", "}", "[", "]", "%", "=", ",", ":", "|", "#", '"', "\\", "*", "+", "-", " ", "\n", "\t", "\x00", "é",
    "\u0663", "\u2028", "9" * 30, "9" * 5000, "-1", "nan", "inf", "-inf", "1e999", "true", "(1, 2)", "()", '"\\ud800"',
    "n", "n*n", "-n", "2*n+1", "f64[]", "f64[n,3]", "u8[2]", "tape[]", "f64[99999999,99999999]", "f64[-1]", "return",
    "graph ", "| @f() {", "# a.py:3", "# a/:3", "%x", "%0", "%0.2", "{axis=0}", "{axis=(0,)}", "const", "scan", "cond",
]


def mutant(draw: random.Random) -> str:
    """A text with something taken out, put in, said twice or exchanged, at a few places."""
    text = draw.choice(TEXTS)
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        a = draw.randrange(len(text) + 1)
        b = min(len(text), a + draw.choice((0, 1, 1, 2, 5, 20, 200)))
        kind = draw.randrange(6)
        if kind == 0:
            text = text[:a] + text[b:]
        elif kind == 1:
            text = text[:a] + draw.choice(NASTY) + text[b:]
        elif kind == 2:
            text = text[:b] + text[a:b] * draw.choice((1, 2, 30)) + text[b:]
        elif kind == 3:
            text = text[:a] + chr(draw.randrange(32, 127)) + text[b:]
        else:  # words change places, so that much is still a graph
            words = [m.span() for m in re.finditer(r"[\w.]+", text)]
            (c, d), (e, f) = draw.choice(words or [(0, 0)]), draw.choice(words or [(0, 0)])
            other = text[e:f] if kind == 4 else draw.choice(list(REGISTRY))
            text = text[:c] + other + text[d:]
    return text


@cache
def carried() -> bytes:
    """What a module carries: containers, fixed words, arrays of its own, and graphs with regions."""
    first, *others = map(parse, [_PLAIN, *[t for t in TEXTS if t.startswith("graph @f(%x: f64[3]")][:3]])
    row = specs.ArraySpec("f64", (3,))
    tree = specs.DictSpec(("w", "more"), (row, specs.ListSpec((specs.StaticSpec("mode"), specs.FloatSpec()))))
    fixed = specs.DictResult(("a",), (specs.ConstantResult(1.5),))
    result = specs.TupleResult((specs.ScalarResult(0, "f64"), fixed))
    made = [Function("f", ("p",), (tree,), result, "Words.", first, (np.arange(3.0), np.array([True, False])))]
    for k, graph in enumerate(others):
        args = tuple([specs.ArraySpec(p.type.dtype, p.type.static_shape()) for p in graph.params])
        results = [specs.ArrayResult(j, r.type.dtype, r.type.static_shape()) for j, r in enumerate(graph.results)]
        names = tuple([f"a{j}" for j in range(len(args))])
        made.append(Function(f"g{k}", names, args, specs.ListResult(tuple(results)), "", graph))
    return pack(made).data


_PLAIN = """graph @f(%w: f64[3], %c: f64[], %k: f64[3], %on: bool[2]) {
  %0: f64[3] = mul %w, %k
  %1: f64[] = sum %0 {axes=(0,)}
  %2: f64[] = mul %1, %c
  return %2
}"""


def spoilt_text(draw: random.Random, text: str) -> str:
    """A text of JSON with numbers, words and brackets exchanged, or parts of it said twice or left out."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        spans = [m.span() for m in re.finditer(r'"[^"]*"|-?\d+|[][{},:]', text)] or [(0, len(text))]
        (a, b), (c, d) = draw.choice(spans), draw.choice(spans)
        kind = draw.randrange(4)
        if kind == 0:
            text = text[:a] + draw.choice(_VALUES) + text[b:]
        elif kind == 1:
            text = text[:a] + text[c:d] + text[b:]
        elif kind == 2:
            text = text[:min(a, c)] + text[max(b, d):]
        else:
            text = text[:b] + text[min(a, c):max(b, d)][:2000] + text[b:]
    return text


_VALUES = [
    "null", "true", "-1", "0", "1e999", "NaN", "9" * 30, "9" * 5000, "[]", "{}", '""', '"../../x"', '"a\\u0000b"',
    '"\\ud800"', '"f64"', '"__import__"', "[" * 3000, "[2000000000, 2000000000]", "[1152921504606846976]",
    '["array", "f64", [3]]', '["fixed", null]', '["tuple", 99999999]', '["list", 0]', '["number"]',
]


def spoilt_module(draw: random.Random) -> bytes:
    """What a module carries with bytes exchanged, or sealed again over other graphs and trees."""
    whole = carried()
    if draw.random() < 0.3:
        data = bytearray(b"\x7fELF" + whole + b"\0" * 8)
        for _ in range(draw.choice((1, 2, 8))):
            at = draw.choice((draw.randrange(len(data)), draw.randrange(120)))
            kind = draw.randrange(4)
            if kind == 0:
                data[at] ^= 1 << draw.randrange(8)
            elif kind == 1:
                del data[at:at + draw.choice((1, 5, 500))]
            elif kind == 2:
                data[at:at] = draw.choice((b"0", b"9" * 12, b"\n", b" ", MAGIC, bytes(data[:draw.randrange(300)])))
            else:
                data[at] = 48 + draw.randrange(10)
            data = data or bytearray(1)
        return bytes(data)
    head, _, rest = whole[len(MAGIC):].partition(b"\n")
    length = int(head.split()[1])
    told, arrays = rest[:length], rest[length:]
    if draw.random() < 0.3:
        functions = json.loads(told)
        texts = graphs(functions, arrays)
        k = draw.randrange(len(texts))
        text = mutant(draw) if draw.random() < 0.5 else texts[k].decode().replace(*draw.choice(_CHANGES))
        before = len(arrays) - len(b"\n\n".join(texts)) - 1
        texts[k] = text.encode(errors="surrogatepass")
        functions["functions"][k]["graph"] = len(texts[k])
        told, arrays = json.dumps(functions).encode(), arrays[:before] + b"\n\n".join(texts) + b"\0"
    else:
        told = spoilt_text(draw, told.decode()).encode(errors="surrogatepass")
    if draw.random() < 0.1:
        arrays = arrays[:draw.randrange(len(arrays))] + bytes(draw.randrange(9))
    return seal(told, arrays)


def graphs(functions: Any, rest: bytes) -> list[bytes]:
    """The texts of graphs that stand behind the json."""
    made: list[bytes] = []
    end = len(rest) - 1
    for each in reversed(functions["functions"]):
        made.insert(0, rest[end - each["graph"]:end])
        end -= each["graph"] + 2
    return made


_CHANGES = [
    ("f64[3]", "f64[4]"), ("f64[]", "f32[]"), ("%w", "%v"), ("@f", "@../f"), ("mul", "external"), ("sum", "max"),
    ("3", "n"), ("f64[3]", "f64[99999999,99999999]"), ("return", "return %w,"), ("(0,)", "(-1,)"),
]


def text(draw: random.Random) -> bool:
    """Whether a spoilt text is a graph: then it is well typed, and prints back to itself."""
    given, checked = mutant(draw), draw.random() < 0.5
    begin = time.process_time()
    try:
        graph = parse(given, checked=checked)
    except ParseError as error:
        good = False
        assert 1 <= error.line <= len(given.splitlines()) + 1 and error.column >= 1 and len(str(error)) < 1000, given
    else:
        good = True
        shown = show(verify(graph) if checked else graph)
        assert show(parse(shown)) == shown, given
    assert time.process_time() - begin < PATIENCE, given
    return good


def module(draw: random.Random) -> bool:
    """Whether spoilt bytes are a module: then all of its graphs are well typed."""
    given = spoilt_module(draw)
    begin = time.process_time()
    try:
        found = unpack(given)
    except KernelError as error:
        good = False
        assert len(str(error)) < 1500, given
    else:
        good = True
        for each in found:
            verify(each.graph)
    assert time.process_time() - begin < PATIENCE, given
    return good


def run(kind: Callable[[random.Random], bool], numbers: range) -> int:
    """How many of the inputs with these numbers are good; another error, or a slow one, is raised with its number."""
    good = 0
    for number in numbers:
        try:
            good += kind(random.Random(number))
        except Exception as error:
            raise AssertionError(f"{kind.__name__} number {number}: {type(error).__name__}: {error}"[:2000]) from error
    return good


def main() -> int:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for kind in (text, module):
        for start in range(seed, seed + count // 2, 50_000):
            numbers = range(start, min(start + 50_000, seed + count // 2))
            print(f"{kind.__name__}: {len(numbers)} from {start} on, {run(kind, numbers)} good", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
