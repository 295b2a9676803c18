"""Which processors extension modules run on, and what cannot be built."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.extension import cpu
from pullback.runtime.compiled.build import build
from pullback.runtime.transforms import grad, jit, value_and_grad
from tests.built import LINKER, alone, made, slope, wide

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
    for wrong in ("z80", "", "avx2;avx512", "native,", 3):
        with pytest.raises(ValueError, match=rf"cpu is {wrong!r}, expected one or several, .*native, baseline, avx2"):
            build(grad(slope), (1.0,), name="k", out=tmp_path, cpu=wrong)  # type: ignore[arg-type]


BEYOND = cpu.Feature("mind reading", "leaf1", 16)
CHOSEN = r"""
#include <stdio.h>
#include "KERNELS.h"
int main(void) {
    double x = 0.5, out = 7.0;
    int64_t report[4];
    int64_t status = KERNELS_slope(&x, &out, report);
    printf("%lld %a ", (long long)status, out);
    return 0;
}
"""


@pytest.mark.parametrize("highest", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_the_highest_level_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, highest: str) -> None:
    """Of several levels in one file, in Python and in C; what is above `highest` no processor has."""
    host = cpu.host_level()
    for name, level in list(cpu.LEVELS.items())[1:]:
        if name > highest:
            monkeypatch.setitem(cpu.LEVELS, name, dataclasses.replace(level, below=None, added=(BEYOND,)))
    able = [each.name for each in cpu.LEVELS.values() if set(each.features) <= set(host.features)]
    chosen = [name for name in able if name in ("x86-64", "x86-64-v3", "x86-64-v4")][-1]
    if not made(tmp_path, grad(slope), (1.0,), name="fat", cpu="avx512, baseline,avx2"):
        return
    told = alone(tmp_path, "import fat; print(fat.cpu, fat.slope(0.5).hex(), fat.__doc__.splitlines()[0])")
    name, number, *doc = told.split()
    assert name == chosen and doc[-4:] == ["x86-64,", "x86-64-v3,", "x86-64-v4", "processors."]
    np.testing.assert_allclose(float.fromhex(number), grad(slope)(0.5), rtol=1e-15 * (chosen != host.name))
    assert float.fromhex(_in_c(tmp_path, "fat")[1]) == float.fromhex(number)


def test_c_on_a_machine_that_lacks_a_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x86-64-v3", "x86-64-v4"):
        monkeypatch.setitem(cpu.LEVELS, name, dataclasses.replace(cpu.LEVELS[name], below=None, added=(BEYOND,)))
    if made(tmp_path, grad(slope), (1.0,), name="thin", cpu="avx2,avx512"):
        told = alone(tmp_path, "print(raised(lambda: __import__('thin')))")
        assert told.startswith("ImportError: thin was built for the processor level x86-64-v3, and this machine lacks")
        status, untouched = _in_c(tmp_path, "thin")
        assert status == "-2" and float.fromhex(untouched) == 7.0


def _in_c(folder: Path, name: str) -> list[str]:
    """Status and result of the slope at 0.5."""
    (folder / "main.c").write_text(CHOSEN.replace("KERNELS", name))
    assert LINKER
    sources = [str(folder / "main.c"), str(folder / f"{name}.o")]
    subprocess.run([LINKER, *sources, f"-I{folder}", "-lm", "-o", str(folder / "main")], check=True, timeout=60)
    return subprocess.run([str(folder / "main")], capture_output=True, text=True, check=True).stdout.split()


def test_a_function_that_serves_many_sizes_is_built_for_that_of_the_example(tmp_path: Path) -> None:
    fn = value_and_grad(wide)
    for n in (40, 50, 60):
        fn(np.ones(n))
    if made(tmp_path, fn, (np.ones(50),), name="fifty"):
        told = alone(tmp_path, """
            import fifty
            print(sum(fifty.wide(array.array("d", [1.0]) * 50)[1]))
            print(raised(lambda: fifty.wide(array.array("d", [1.0]) * 60)))
        """)
        number, error = told.splitlines()
        np.testing.assert_allclose(float(number), fn(np.ones(50))[1].sum())
        assert error == "ValueError: wide: argument x has shape (60,), expected an array of float64, shape (50,)"


# ---- bad builds


def test_without_a_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no cc, gcc or clang on PATH: install one .*ziglang.*target="):
        build(grad(slope), (1.0,), name="k", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_package_ziglang_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no compiler on PATH. The package is played here by one that calls the compiler there is."""
    if LINKER is None:
        pytest.skip("there is no linker")
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    told = tmp_path / "told"
    (package / "__main__.py").write_text(
        f"import os, sys, pathlib\npathlib.Path({str(told)!r}).write_text(' '.join(sys.argv[1:]))\n"
        f"os.environ['PATH'] = {os.environ['PATH']!r}\nos.execv({LINKER!r}, [{LINKER!r}, *sys.argv[2:]])\n"
    )
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    build(grad(slope), (1.0,), name="zigged", out=tmp_path / "out")
    assert told.read_text().startswith("cc -shared -s ") and "noseparate-code" not in told.read_text()
    assert float(alone(tmp_path / "out", "import zigged; print(zigged.slope(0.5))")) == grad(slope)(0.5)


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
        (jit(slope, sizes={"x": ("n", 3)}), (np.ones(20),), "k", TypeError, "x has 1 axes, but sizes says"),
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


def test_complex_numbers_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"f: argument z is complex: a module takes and returns real numbers; take"):
        build({"f": lambda z: np.abs(z)}, {"f": (3 + 4j,)}, name="c", out=tmp_path)
    with pytest.raises(TypeError, match=r"argument p\['z'\] is complex"):
        build({"f": lambda p: np.sum(np.abs(p["z"]))}, {"f": ({"z": np.ones(3, complex)},)}, name="c", out=tmp_path)
    with pytest.raises(TypeError, match="f returns complex numbers: a module takes and returns real ones; take"):
        build({"f": lambda x: x * 1j}, {"f": (2.0,)}, name="c", out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"'k' cannot be written into the folder '.*file': File exists"):
        build({"f": lambda x: x * x}, {"f": (2.0,)}, name="k", out=tmp_path / "file")


def test_what_fixes_sizes_is_told_with_the_line_of_the_function(tmp_path: Path) -> None:
    def stores(u):
        u = u.copy()
        u[: int(u.shape[0])] += u
        return np.sum(u)

    line = stores.__code__.co_firstlineno + 2
    with pytest.raises(TypeError, match=rf"n is fixed by .* at .*test_build_refusals.py:{line}\)"):
        build(stores, (np.ones(30),), name="k", out=tmp_path, sizes={"u": ("n",)})
