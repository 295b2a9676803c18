"""The text of graphs: what is no graph is a ParseError within a second, and what is one prints back to itself."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from pullback.compiler import ops
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.text import MAX_DIGITS, ParseError, parse, show
from pullback.compiler.ir.types import Type, parse_dim
from pullback.compiler.ir.verify import verify

assert ops, "the primitives are registered"
MUTANTS = 5000
GOLDEN = Path(__file__).parent / "golden"
TEXTS = [text for path in sorted(GOLDEN.glob("*.txt")) for text in re.findall(r"(?ms)^graph @.*?^\}", path.read_text())]

NASTY = [
    "(", ")", "{", "}", "[", "]", "%", "=", ",", ":", "|", "#", '"', "\\", "*", "+", "-", " ", "\n", "\t", "\x00", "é",
    "\u0663", "\u2028", "9" * 30, "9" * 5000, "-1", "nan", "inf", "-inf", "1e999", "true", "(1, 2)", "()", '"\\ud800"',
    "n", "n*n", "-n", "2*n+1", "f64[]", "f64[n,3]", "u8[2]", "tape[]", "f64[99999999,99999999]", "f64[-1]", "return",
    "graph ", "| @f() {", "# a.py:3", "# a/:3", "%x", "%0", "%0.2", "{axis=0}", "{axis=(0,)}", "const", "scan", "cond",
]


def outcome(text: str) -> str:
    """The text of a graph as it prints, "" if it is none; fails if that takes long, or another error comes."""
    begin = time.process_time()
    try:
        shown = show(parse(text))
    except ParseError as error:
        assert len(str(error)) < 1000, "the message is as long as the text"
        shown = ""
    assert time.process_time() - begin < 3.0, text[:500]
    return shown


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


def test_texts_print_back_to_themselves() -> None:
    assert len(TEXTS) > 40
    for text in TEXTS:  # but for the column of their comments, if they were written by hand
        assert re.sub(" +#", " #", show(parse(text))) == re.sub(" +#", " #", text) and outcome(outcome(text))


def test_mutants_are_graphs_or_parse_errors() -> None:
    draw, graphs = random.Random(15), 0
    for _ in range(MUTANTS):
        shown = outcome(mutant(draw))
        if shown:
            graphs += 1
            assert outcome(shown) == shown
    assert MUTANTS // 20 < graphs < MUTANTS // 2, "the mutants are all alike"


LINE = "graph @f(%x: f64[3]) {{\n  %y: f64[3] = {}\n  return %y\n}}"
MANY = 20_000

REFUSED = {
    "terms of a size": f"graph @f(%x: f64[{'+'.join(f'n{k}*m' for k in range(MANY))}) {{\n  return %x\n}}",
    "factors of a size": f"graph @f(%x: f64[{'*'.join(['9'] * MANY)}]) {{\n  return %x\n}}",
    "a long factor": f"graph @f(%x: f64[{'9' * 5000}]) {{\n  return %x\n}}",
    "a sum of numbers": f"graph @f(%x: f64[{'+'.join([str(2**62)] * 9)}]) {{\n  return %x\n}}",
    "axes": f"graph @f(%x: f64[{','.join(['1'] * MANY)}]) {{\n  return %x\n}}",
    "elements": "graph @f(%x: f64[99999999,99999999]) {\n  return %x\n}",
    "the number of a line": LINE.format(f"sin %x  # a.py:{'9' * 5000}"),
    "a file without a name": LINE.format("sin %x  # a/:3"),
    "a long number": LINE.format(f"pow %x {{exponent={'9' * 5000}}}"),
    "a number that is just too long": LINE.format(f"pow %x {{exponent={'9' * (MAX_DIGITS + 1)}}}"),
    "nested values": LINE.format(f"sin %x {{axes={'(' * MANY}1{')' * MANY}}}"),
    "quotes": LINE.format(f"sin %x {{axes={chr(34) + chr(92)}{(chr(92) + chr(34)) * MANY}}}"),
    "an open string": LINE.format("sin %x {axes=" + '"' * 2 * MANY + "a}"),
    "spaces": LINE.format("sin %x {axes=" + " " * 2 * MANY + "]}"),
    "spaces behind": LINE.format("sin %x" + " " * 2 * MANY + "!"),
    "brackets": LINE.format("sin %x {axes=" + "a[" * MANY + "}"),
    "commas": LINE.format("sin" + ", %x" * MANY),
    "unknown arguments": LINE.format("sin " + ", ".join(f"%a{k}" for k in range(MANY))),
    "parameters that are none": f"graph @f({'a,' * MANY}) {{\n  return %x\n}}",
    "open brackets": f"graph @f({'%a: f64[,' * MANY}) {{\n  return %x\n}}",
    "one name twice": f"graph @f({', '.join(['%a: f64[]'] * MANY)}) {{\n  return %a\n}}",
    "a long name": f"graph @f(%x: f64[3]) {{\n  %y: f64[3] = {'s' * 10**6} %x\n  return %y\n}}",
    "regions": "graph @f() {\n" + "  cond\n| @f() {\n" * MANY,
    "garbage between values": LINE.format("sin %x {axes=(1]2)}"),
    "nothing": "",
    "blank lines": "\n" * MANY,
    "no end": "graph @f() {\n" + "  sin\n" * MANY,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_refused_at_once(what: str) -> None:
    assert outcome(REFUSED[what]) == ""


def test_long_texts_are_read_and_written_in_linear_time() -> None:
    params = ", ".join(f"%x{k}: f64[2]" for k in range(MANY))
    names = ", ".join(f"%x{k}" for k in range(MANY))
    text = f"graph @f({params}) {{\n  %0: f64[{2 * MANY}] = concatenate {names} {{axis=0}}\n  return %0\n}}"
    assert outcome(text) == text
    b = Builder("f", [Type("f64")] * MANY, ["x"] * MANY)
    begin = time.process_time()
    shown = show(b.finish(b.params))
    assert time.process_time() - begin < 3.0 and outcome(shown) == shown, "values of one name are told apart"


def test_sizes_print_back_to_themselves() -> None:
    for text in ("n", "2*n", "n*m", "n+1", "-n", "-2*n*n+n-3", "0*n+7", "n-n", "0", str(2**63 - 1)):
        made = parse_dim(text)
        assert parse_dim(str(made)) == made
    assert str(parse_dim("1+b*a+a*b")) == "2*a*b+1" and parse_dim("n-n+4*2") == 8


def test_mutants_are_checked_as_they_are_read() -> None:
    """What `pullback.parse` takes is well typed; everything else is one error, at a place in the text."""
    draw, good = random.Random(16), 0
    for _ in range(MUTANTS // 2):
        text = mutant(draw)
        begin = time.process_time()
        try:
            verify(parse(text, checked=True))
            good += 1
        except ParseError as error:
            assert 1 <= error.line <= text.count("\n") + 2 + text.count("\u2028") and error.column >= 1
        assert time.process_time() - begin < 3.0, text[:500]
    assert good > MUTANTS // 100
