"""Which processors extension modules run on, and what cannot be built."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.extension import cpu
from pullback.runtime.compiled.build import build
from pullback.runtime.transforms import grad, jit, value_and_grad
from tests.built import alone, made, slope, wide

# ---- processors


def test_levels_agree(tmp_path: Path) -> None:
    """Whatever this machine runs gives the same bits, where it has fused multiplication or where it has not."""
    host, told = cpu.host_level(), {}
    for k, level in enumerate(cpu.LEVELS.values()):
        if set(level.features) <= set(host.features) and made(
            tmp_path, value_and_grad(wide), (np.ones(3000),), name=f"v{k}", cpu=level.name
        ):
            text = f"import v{k} as m; v, g = m.wide(array.array('d', [i / 700 for i in range(3000)]))\n"
            text += "print(m.cpu, v.hex(), sum(g).hex())"
            name, *numbers = alone(tmp_path, text).split()
            assert name == level.name
            told.setdefault(level.fma, []).append(numbers)
    for same in told.values():
        assert all(each == same[0] for each in same)


def test_a_machine_that_lacks_a_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit 16 of that register is reserved, and 0 on all processors."""
    base = cpu.LEVELS["x86-64"]
    demanding = dataclasses.replace(base, added=(cpu.Feature("mind reading", "leaf1", 16),))
    monkeypatch.setitem(cpu.LEVELS, "x86-64", demanding)
    if made(tmp_path, grad(slope), (1.0,), name="picky", cpu="x86-64"):
        told = alone(tmp_path, "print(raised(lambda: __import__('picky')))")
        assert told.startswith(
            "ImportError: picky was built for the processor level x86-64, and this machine lacks mind reading"
        )


def test_unknown_levels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cpu is 'z80', expected 'host' or one of x86-64, x86-64-v2"):
        build(grad(slope), (1.0,), name="k", out=tmp_path, cpu="z80")


# ---- bad builds


def test_without_a_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no cc, gcc or clang on PATH: install"):
        build(grad(slope), (1.0,), name="k", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_linker_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho no luck today >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"status 3(.|\n)*no luck today"):
        build(grad(slope), (1.0,), name="k", out=tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def _bad_builds() -> list[tuple[Any, Any, str, type[Exception], str]]:
    def keyed(x):
        return {1: x}

    def named_only(x, *, k):
        return x * k

    def returns_object(x):
        return x, object

    one = (1.0,)
    return [
        (slope, one, "a-b", ValueError, "name is 'a-b', expected a name of letters"),
        (slope, one, "class", ValueError, "name is 'class'"),
        (slope, 1.0, "k", TypeError, r"example_args of slope is of class float, expected a tuple.*write \(x,\)"),
        (lambda x: x, one, "k", ValueError, "fn is called <lambda>"),
        ({"a": slope}, one, "k", TypeError, r"example_args is a tuple, expected a dict .*\['a'\]"),
        ({"a": slope}, {"b": one}, "k", TypeError, r"example_args is \['b'\], expected .*\['a'\]"),
        ({}, {}, "k", ValueError, "fn is an empty dict"),
        ({"a b": slope}, {"a b": one}, "k", ValueError, "the name of a function is 'a b'"),
        (slope, (1.0, 2.0), "k", TypeError, "too many positional arguments"),
        (keyed, one, "k", TypeError, "keyed returns a dict whose keys are not strings"),
        (named_only, one, "k", TypeError, "missing a required argument: 'k'"),
        (returns_object, one, "k", TypeError, "returns_object returns <class 'object'>: a module can return only"),
        (jit(lambda f, x: f(x)), one, "k", ValueError, "fn is called <lambda>"),
        (
            {"g": lambda f, x: f(x)},
            {"g": (np.sin, 1.0)},
            "k",
            TypeError,
            "g: argument f is <ufunc 'sin'>: .*functools.partial",
        ),
        (
            {"g": lambda p: p[0]},
            {"g": ({0: 1.0},)},
            "k",
            TypeError,
            r"g: argument p is a dict with the keys \[0\], expected strings",
        ),
    ]


@pytest.mark.parametrize(("fn", "args", "name", "kind", "message"), _bad_builds())
def test_bad_builds(tmp_path: Path, fn: Any, args: Any, name: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        build(fn, args, name=name, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_build_inside_a_trace_is_refused(tmp_path: Path) -> None:
    @jit
    def outer(x):
        build(slope, (1.0,), name="k", out=tmp_path)
        return x

    with pytest.raises(RuntimeError, match="inside a function that is being traced"):
        outer(1.0)
