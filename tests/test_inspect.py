"""Dumps as people meet them: with source, in colours, as diffs, and back from text to functions."""

from __future__ import annotations

import doctest
import os
import pickle
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import ParseError, grad, jit, parse, vmap
from pullback.__main__ import main
from pullback.compiler.ir.text import parse as graph_of
from pullback.compiler.ir.text import show
from pullback.runtime.compiled.inside import Inside
from pullback.runtime.inspect.text import Text, wants_colour

HERE = Path(__file__).name


def dense(w, x):
    y = x @ w
    z = np.tanh(y)
    return np.sum(z * z)


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = x - (x * x - a) / (2 * x)
    return x


def steps(x, k):
    total = 0.0
    for i in range(20):
        if x > 1.0:
            total = total + np.sin(x) * k[i % 3]
        x = x * 0.9 + 0.05
    return total


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(np.log(np.sum(e, axis=1)) ** 2) + np.sum(x[:, ::2] * np.where(x[:, ::2] > 0, 1.5, 0.25))


def solve(a, b, eye):
    return np.sum(np.linalg.solve(a @ a.T + 3.0 * eye, b) ** 2)


RNG = np.random.default_rng(3)
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dense": (dense, (RNG.normal(size=(5, 3)), RNG.normal(size=5))),
    "newton": (newton, (2.0,)),
    "steps": (steps, (2.5, RNG.normal(size=3))),
    "softmax": (softmax, (RNG.normal(size=(4, 7)),)),
    "single": (dense, (RNG.normal(size=(5, 3)).astype(np.float32), RNG.normal(size=5).astype(np.float32))),
    "solve": (solve, (RNG.normal(size=(3, 3)), RNG.normal(size=3), np.eye(3))),
}


def bits(made: Any) -> list[bytes]:
    return [np.asarray(each).tobytes() for each in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("transform", [jit, grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_printed_graphs_parse_and_run_to_the_same_bits(name: str, transform: Any) -> None:
    function, args = PROGRAMS[name]
    compiled = transform(function)
    want, stages = compiled(*args), ["graph", "optimized"] if transform is jit else ["adjoint", "optimized"]
    for stage in stages:
        text = compiled.ir(stage, *args)
        again = parse(text)
        assert bits(again(*args)) == bits(want), stage
        assert show(graph_of(text)) == text
        assert bits(parse(text.beside())(*args)) == bits(want), "with the source as comments"


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_parsed_is_differentiated_like_what_was_traced(name: str) -> None:
    function, args = PROGRAMS[name]
    again = parse(jit(function).ir("graph", *args))
    assert bits(grad(again)(*args)) == bits(grad(function)(*args))
    assert again.ir("llvm", *args) and again.ir() == again.ir("graph", *args)


def test_an_edited_graph_is_another_function() -> None:
    text = jit(dense).ir("graph", *PROGRAMS["dense"][1])
    w, x = PROGRAMS["dense"][1]
    other = parse(text.replace("= tanh ", "= sin "))
    np.testing.assert_allclose(other(w, x), np.sum(np.sin(x @ w) ** 2), rtol=1e-14)
    np.testing.assert_allclose(grad(other)(w, x), grad(lambda w, x: np.sum(np.sin(x @ w) ** 2))(w, x), rtol=1e-13)
    many = vmap(other, in_axes=(None, 0))(w, np.stack([x, 2 * x]))
    np.testing.assert_allclose(many, [other(w, x), other(w, 2 * x)], rtol=1e-14)
    np.testing.assert_array_equal(other(w=w, x=x), other(w, x))
    assert pickle.loads(pickle.dumps(other))(w, x) == other(w, x)


def test_a_graph_with_named_sizes_takes_all_of_them() -> None:
    dot = parse("graph @dot(%x: f64[n], %y: f64[n]) {\n\n  # products\n  %0: f64[n] = mul %x, %y\n"
                "  %1: f64[] = sum %0 {axes=(0,)}\n  return %1\n}")
    for n in (1, 4, 40):
        x = RNG.normal(size=n)
        np.testing.assert_allclose(dot(x, x), x @ x, rtol=1e-14)
        np.testing.assert_allclose(grad(dot)(x, x + 1), x + 1)
    with pytest.raises(TypeError, match=r"argument y is float64\[3\], expected float64\[4\]"):
        dot(np.ones(4), np.ones(3))
    with pytest.raises(TypeError, match=r"argument x is float32\[4\], expected float64\[4\].*x.astype\(np.float64\)"):
        dot(np.ones(4, np.float32), np.ones(4))


GOOD = "graph @f(%x: f64[3]) {\n  %y: f64[3] = sin %x\n  return %y\n}"
BAD = {
    "an unknown primitive": (GOOD.replace("sin", "sni"), 2, 16, "unknown primitive 'sni'"),
    "an unknown name": (GOOD.replace("sin %x", "sin %z"), 2, 20, "%z is not defined"),
    "a result of another type": (GOOD.replace("%y: f64[3] =", "%y: f64[4] ="), 2, 3, "sin gives f64[3], the text says"),
    "a type that is none": (GOOD.replace("%y: f64[3] =", "%y: f65[3] ="), 2, 3, "is not '%name: type'"),
    "something behind": (GOOD.replace("sin %x", "sin %x ?"), 2, 23, "expected"),
    "attributes": (GOOD.replace("sin %x", "sin %x {a=}"), 2, 23, "attributes"),
    "an attribute too many": (GOOD.replace("sin %x", "sin %x {a=1}"), 2, 3, "sin is ill-typed"),
    "an argument too many": (GOOD.replace("sin %x", "sin %x, %x"), 2, 3, "sin is ill-typed"),
    "a head that is none": (GOOD.replace("graph @f", "graph f"), 1, 7, "expected 'graph @name"),
    "no end": (GOOD[:-2], 4, 1, "end of text"),
    "two graphs": (GOOD + "\n" + GOOD, 5, 1, "goes on"),
    "nothing": ("", 1, 1, "end of text"),
    "a tape": ("graph @f(%t: tape[]) {\n  return %t\n}", 1, 1, "cannot be tape[]"),
    "no result": ("graph @f(%x: f64[]) {\n  return\n}", 1, 1, "returns no arrays"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_graph_is_one_error_with_a_place(what: str) -> None:
    text, line, column, said = BAD[what]
    with pytest.raises(ParseError) as error:
        parse(text)
    assert (error.value.line, error.value.column) == (line, column) and said in str(error.value)
    assert f"line {line}, column {column}: " in str(error.value)


def test_parse_says_what_it_takes() -> None:
    with pytest.raises(TypeError, match="text is of class function, expected a graph as text"):
        parse(dense)  # type: ignore[arg-type]


@pytest.mark.parametrize("stage", ["loops", "llvm", "asm"])
@pytest.mark.parametrize("name", ["dense", "newton", "steps", "softmax"])
def test_code_says_which_line_it_comes_from(name: str, stage: str) -> None:
    function, args = PROGRAMS[name]
    slope: Any = grad(function)
    slope(*args)
    text = slope.ir(stage)
    first = function.__code__.co_firstlineno
    lines = [place.line for place in text.places if place is not None]
    assert lines and len(text.places) == len(text.splitlines())
    assert all(first < line < first + 8 for line in lines)
    assert all(line.endswith(str(place)) for line, place in zip(text.splitlines(), text.places, strict=True) if place)
    if stage == "llvm":
        bare = "\n".join(line.partition("  ; ")[0] for line in text.splitlines())
        assert bare == slope._latest.kernel.emitted.text.rstrip("\n"), "the code is that which runs"
    if stage == "asm":
        assert ".loc" not in text and ".debug" not in text


def test_a_line_leads_to_its_own_instructions() -> None:
    """tanh is in one line and the products in others."""
    slope = jit(dense)
    slope(*PROGRAMS["dense"][1])
    text = slope.ir("loops")
    first = dense.__code__.co_firstlineno
    tanh = [p.line - first for line, p in zip(text.splitlines(), text.places, strict=True) if p and "= tanh(" in line]
    products = [p.line - first for line, p in zip(text.splitlines(), text.places, strict=True) if p and "w[" in line]
    assert products == [1] and set(tanh) <= {2}


def test_the_source_stands_beside_the_graph() -> None:
    text = jit(dense).ir("graph", *PROGRAMS["dense"][1])
    shown = text.beside().splitlines()
    first = dense.__code__.co_firstlineno
    at = next(k for k, line in enumerate(shown) if f"# {first + 2} | z = np.tanh(y)" in line)
    assert " tanh " in shown[at + 1]


def test_a_diff_says_what_each_pass_has_changed() -> None:
    slope = grad(dense)
    slope(*PROGRAMS["dense"][1])
    lines = slope.ir("diff").splitlines()
    heads = [line for line in lines if line.startswith(("--- ", "+++ "))]
    assert heads[0] == "--- adjoint" and "+++ adjoint, after algebra" in heads
    assert heads[2::2] == [f"---{line[3:]}" for line in heads[1:-1:2]], "each goes on where the one before ended"
    rest = [line for line in lines if line not in heads]
    assert any(line.startswith("-  %") for line in rest) and any(line.startswith("+  %") for line in rest)
    assert jit(lambda x: x)(1.0) == 1.0 and jit(lambda x: x).ir("diff", 1.0) == "no pass changes the graph"


def test_the_text_is_a_str_and_has_colours_only_where_they_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = jit(lambda x: np.sin(x) * 2).ir("graph", 1.0)
    assert isinstance(text, str) and "\x1b" not in f"{text}{text!r}{str(text)!s}" and repr(text) == text
    coloured = text.coloured()
    assert "\x1b[" in coloured

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal()) and not wants_colour(sys.stdout) and not wants_colour(None)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


def test_notebooks_get_escaped_html() -> None:
    html = Text('%0: f64[] = custom %x {name="<script>&"}', "graph")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;&amp;" in html and html.startswith("<pre")


def test_a_stage_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"no stage 'assembly': there are graph, adjoint, .* diff"):
        jit(dense).ir("assembly")
    with pytest.raises(ValueError, match=r"dense has not been compiled yet: call it, or pass .* ir\('llvm', \.\.\.\)"):
        jit(dense).ir("llvm")


NAMES = {"np": np, "grad": grad, "jit": jit, "vmap": vmap}


@pytest.mark.parametrize("what", [Text, Inside, parse, ParseError], ids=lambda each: each.__name__)
def test_examples_in_docstrings_are_true(what: Any) -> None:
    names = NAMES | {"parse": graph_of if what is ParseError else parse, "ParseError": ParseError}
    tests = [t for t in doctest.DocTestFinder().find(what, globs=names) if t.examples]
    runner = doctest.DocTestRunner()
    assert tests and all(runner.run(t).failed == 0 for t in tests)


# ---- the command line


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "train.py").write_text("import numpy as np\n\ndef loss(w, x):\n    return np.sum(np.tanh(w * x))\n")
    return f"{tmp_path / 'train.py'}:loss"


def command(*words: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PULLBACK")} | {"PULLBACK_CACHE": "0"}
    return subprocess.run(
        [sys.executable, "-m", "pullback", *words], env=kept, capture_output=True, text=True, timeout=120
    )


def test_a_dump_goes_to_a_file_and_runs(file: str, tmp_path: Path) -> None:
    done = command("dump", file, "--args", "f64[3], x=f64", "--stage", "adjoint", "--source")
    assert done.returncode == 0 and "\x1b" not in done.stdout and "# 4 | return np.sum" in done.stdout
    (tmp_path / "graph.txt").write_text(done.stdout)
    ran = command("run", str(tmp_path / "graph.txt"), "--args", "f64[3], f64, f64")
    assert ran.returncode == 0, ran.stderr
    w = np.array([0.25, 0.5, 0.75])
    assert str(np.sum(np.tanh(w * 0.5)))[:12] in ran.stdout and ran.stdout.count("float64[3]") == 1
    (tmp_path / "graph.txt").write_text(done.stdout.replace("tanh", "tahn"))
    wrong = command("run", str(tmp_path / "graph.txt"))
    assert wrong.returncode == 2 and "unknown primitive 'tahn'" in wrong.stderr and "Traceback" not in wrong.stderr


def test_run_makes_numbers_and_gradients(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", file, "--args", "f64[3],f64"]) == 0
    (tmp_path / "graph.txt").write_text(capsys.readouterr().out)
    assert main(["run", str(tmp_path / "graph.txt"), "--grad"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "float64[3]" and out[2] == "float64[]"
    assert main(["dump", file, "--args", "f64[3],f64", "--stage", "diff"]) == 0
    assert capsys.readouterr().out.strip()
    assert main(["explore", file, "--args", "f64[3],f64", "--to", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.html") and (tmp_path / "page.html").is_file()


def test_code_is_folded_below_its_lines_in_html() -> None:
    f = jit(lambda x: np.sum(np.tanh(np.sin(x)) < 0.5))
    for stage in ("llvm", "asm"):
        text = f.ir(stage, np.ones(9))
        runs = text.runs()
        assert [k for run in runs for k in range(run.first, run.last)] == list(range(len(text.splitlines())))
        folded = [run for run in runs if run.place is not None]
        html = text._repr_html_()
        assert folded and html.count("<details open><summary") == len(folded) and "| f = jit(lambda x: np.sum(" in html
        for run in folded:
            assert set(text.places[run.first : run.last]) <= {run.place, None}
        plain = re.sub(r"<summary.*?</summary>", "", html).replace("</details>", "\n").replace("</div>", "\n")
        shown = unescape(re.sub(r"<[^>]*>", "", plain))
        assert [line for line in shown.splitlines() if line] == [line for line in text.splitlines() if line]
    assert "<details" not in f.ir("graph")._repr_html_()
