"""The text of graphs: what is no graph is a ParseError within a second, and what is one prints back to itself."""

from __future__ import annotations

import re
import time

import pytest

from pullback.compiler import ops
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ir.text import MAX_DIGITS, ParseError, parse, show
from pullback.compiler.ir.types import Type, parse_dim
from tests.fuzz.inputs import TEXTS

assert ops, "the primitives are registered"


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


def test_texts_print_back_to_themselves() -> None:
    assert len(TEXTS) > 40
    for text in TEXTS:  # but for the column of their comments, if they were written by hand
        assert re.sub(" +#", " #", show(parse(text))) == re.sub(" +#", " #", text) and outcome(outcome(text))


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


def test_a_size_that_nobody_gives_is_refused() -> None:
    text = "graph @f(%x: f64[n], %k: f64[3]) {{\n  %0: f64[3] = neg %k\n  %1: f64[{}] = {}\n  return %1\n}}"
    parse(text.format("n", "spread %k {axes=(), shape=(n,)}"))
    for size, line in (("m", "spread %k {axes=(), shape=(m,)}"), ("m+n", "neg %x"), ("3", "slice %k {step=(m,)}")):
        with pytest.raises(ParseError, match="line 3, column") as refused:
            parse(text.format(size, line), checked=True)
        assert refused.value.line == 3


@pytest.mark.parametrize("name", ["inverse", "det", "cofactor", "cholesky", "matrix_exp", "potrf", "slogdet", "getrf"])
@pytest.mark.parametrize("shape", ["", "3", "2,3"])
def test_matrices_that_are_not_square_are_refused(name: str, shape: str) -> None:
    """Whatever a text says of them: native code would read beyond what is not there."""
    kind = Type("f64", tuple([int(n) for n in shape.split(",") if n]))
    with pytest.raises(TypeError, match="expected square matrices"):
        REGISTRY[name].infer([kind], {}, ())


@pytest.mark.parametrize("right", ["f64[3]", "f64[2,1]", "f32[3,1]", "f64[2,3,1]"])
def test_right_sides_that_do_not_fit_are_refused(right: str) -> None:
    made = f"graph @f(%a: f64[3,3], %b: {right}) {{\n  %0: {right} = solve %a, %b {{turned=0}}\n  return %0\n}}"
    with pytest.raises(ParseError, match="does not fit with"):
        parse(made, checked=True)
