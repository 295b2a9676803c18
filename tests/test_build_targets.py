"""Kernels as objects for other machines: without a C library, for WebAssembly, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.extension import targets
from pullback.runtime.compiled.build import build
from pullback.runtime.control import while_loop
from pullback.runtime.transforms import grad, jit, value_and_grad
from tests.built import LINKER, SHIFT, X, pick, shifted, slope

NODE = shutil.which("node")
W = np.linspace(-1.0, 1.0, 20 * 30).reshape(20, 30)


def network(w, x):
    h = np.tanh(x @ w)
    return np.sum(h @ h.T) / 7


def ints(n, row, flag):
    return n * 2 + 2, np.logical_not(flag), row + 1


NET = (W, W[:, :20].copy())
INTS = (1, np.arange(3, dtype=np.int32), np.array([True, False]))
EXAMPLES: dict[str, Any] = {"slope": (1.0,), "pick": (X, 1), "net": NET, "shifted": (X,), "ints": INTS}
FUNCTIONS = {
    "slope": grad(slope),
    "pick": jit(pick),
    "net": value_and_grad(network),
    "shifted": value_and_grad(shifted),
    "ints": jit(ints),
}

# ---- without a C library

MAIN = r"""
#include <stdio.h>
#include "bare.h"
static double w[20 * 30], x[20 * 20], value, made[20 * 30];
int main(void) {
    int64_t report[4], index = 7, status;
    double one = 0.5, out, row[3] = {1, 4, 9};
    for (int k = 0; k < 600; ++k) w[k] = -1 + 2.0 * k / 599;
    for (int k = 0; k < 400; ++k) x[k] = w[k / 20 * 30 + k % 20];
    status = bare_slope(&one, &out, report);
    printf("%d %.17g\n", (int)status, out);
    status = bare_pick(row, &index, &out, report);
    printf("%d %d\n", (int)status, (int)report[0]);
    for (int k = 0; k < 2; ++k) {
        status = bare_net(w, x, &value, made, report);
        printf("%d %.17g %.17g\n", (int)status, value, made[599]);
    }
    return 0;
}
"""


@pytest.mark.skipif(LINKER is None or not shutil.which("nm"), reason="there is no C compiler")
def test_an_object_without_a_c_library(tmp_path: Path) -> None:
    """It leaves no names open but those of mathematics, and what it computes is right, twice."""
    path = build(FUNCTIONS, EXAMPLES, name="bare", out=tmp_path, target="x86_64-none")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bare.h", "bare.o"] and path.name == "bare.o"
    opened = subprocess.run(["nm", "-u", str(path)], capture_output=True, text=True, check=True).stdout.split()
    assert set(opened) <= {"U", "sin", "cos"}, opened
    seen = subprocess.run(["nm", "--defined-only", "-g", str(path)], capture_output=True, text=True, check=True).stdout
    assert sorted(re.findall(r" T (\w+)", seen)) == sorted(f"bare_{name}" for name in FUNCTIONS)
    assert re.search(r"static memory \(net: \d{4,} bytes\)", (tmp_path / "bare.h").read_text())
    (tmp_path / "main.c").write_text(MAIN)
    assert LINKER
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{tmp_path}", "-no-pie"]
    sources = [str(tmp_path / "main.c"), str(path)]
    subprocess.run([LINKER, *flags, *sources, "-lm", "-o", str(tmp_path / "main")], check=True, timeout=60)
    told = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout.splitlines()
    value, slopes = FUNCTIONS["net"](*NET)
    assert told[1] == "1 7"
    np.testing.assert_allclose(float(told[0].split()[1]), FUNCTIONS["slope"](0.5), rtol=1e-15)
    for line in told[2:]:
        status, *numbers = map(float, line.split())
        assert status == 0
        np.testing.assert_allclose(numbers, [value, slopes[-1, -1]], rtol=1e-12)


HEADS = {"linux": b"\x7fELF", "none": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "wasm32": b"\0asm"}
MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "riscv32": 243, "thumbv7em": 40}


@pytest.mark.parametrize("target", sorted(targets.TARGETS))
def test_every_target(tmp_path: Path, target: str) -> None:
    """The format and the machine of each object, and that its header names the kernels."""
    path = build(FUNCTIONS["slope"], (1.0,), name="far", out=tmp_path, target=target)
    machine, _, system = target.partition("-")
    data = path.read_bytes()
    if system == "windows":
        assert path.suffix == ".obj" and data[:2] == (b"\x64\x86" if machine == "x86_64" else b"\x64\xaa")
    else:
        assert data.startswith(HEADS[system or machine])
    if data.startswith(b"\x7fELF"):
        assert int.from_bytes(data[18:20], "little") == MACHINES[machine]
        assert data[4] == 1 + (machine.endswith("64"))
    assert b"far_slope" in data and "int64_t far_slope(" in (tmp_path / "far.h").read_text()


# ---- WebAssembly

SCRIPT = """
import {load} from "./MODULE.mjs";
import {readFileSync} from "fs";
const k = await load(readFileSync(process.argv[2]));
const raised = (call) => { try { return call(); } catch (error) { return error.name + ": " + error.message; } };
const rows = (a) => a.map((each) => ArrayBuffer.isView(each) ? [...each].map(Number) : Number(each));
const w = Float64Array.from({length: 600}, (_, j) => -1 + 2 * j / 599);
const x = Float64Array.from({length: 400}, (_, j) => w[Math.floor(j / 20) * 30 + j % 20]);
const row = new Float64Array([1, 4, 9]);
console.log(JSON.stringify([
  rows(k.slope(0.5)), rows(k.slope(1e9)), rows(k.net(w, x)), rows(k.net(w, x)), rows(k.shifted(row)),
  rows(k.ints(2n ** 40n, new Int32Array([1, 2, 3]), new Uint8Array([1, 0]))),
  raised(() => k.pick(row, 7)), rows(k.pick(row, 2)),
  raised(() => k.pick([1, 2, 3], 1)), raised(() => k.pick(new Float64Array(4), 1)), raised(() => k.pick(row, 1.5)),
  raised(() => k.slope("1")), raised(() => k.slope()), raised(() => k.pick(row, 2n ** 64n)),
]));
"""


@pytest.mark.skipif(NODE is None, reason="there is no Node")
def test_web_assembly(tmp_path: Path) -> None:
    path = build(FUNCTIONS, EXAMPLES, name="web", out=tmp_path, target="wasm32")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["web.h", "web.mjs", "web.o", "web.wasm"]
    (tmp_path / "run.mjs").write_text(SCRIPT.replace("MODULE", "web"))
    assert NODE
    done = subprocess.run([NODE, str(tmp_path / "run.mjs"), str(path)], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    near, far, first, second, moved, mixed, *texts = json.loads(done.stdout)
    np.testing.assert_allclose([*near, *far], [FUNCTIONS["slope"](0.5), FUNCTIONS["slope"](1e9)], rtol=1e-12)
    value, slopes = FUNCTIONS["net"](*NET)
    for made in (first, second):
        np.testing.assert_allclose(made[0], value, rtol=1e-12)
        np.testing.assert_allclose(made[1], slopes.ravel(), rtol=1e-10, atol=1e-14)
    assert moved == [17.0, SHIFT.tolist()] and mixed == [2**41 + 2, [0, 1], [2, 3, 4]]
    raised, picked, *wrong = texts
    assert raised.startswith("Error: IndexError: ") and "7" in raised and picked == [18]
    assert wrong == [
        "TypeError: pick: argument x is no Float64Array of 3 elements",
        "RangeError: pick: argument x has 4 elements, expected 3",
        "RangeError: pick: argument i is 1.5, expected an integer",
        "TypeError: slope: argument x is a string, expected a number",
        "TypeError: slope takes (x), got 0 arguments",
        "RangeError: pick: argument i has more than 64 bits",
    ]


# ---- what is refused


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="target is 'pdp11', expected one of x86_64-linux, aarch64-linux"):
        build(grad(slope), (1.0,), name="k", out=tmp_path, target="pdp11")
    with pytest.raises(ValueError, match="cpu is 'avx2' and target 'wasm32': levels"):
        build(grad(slope), (1.0,), name="k", out=tmp_path, target="wasm32", cpu="avx2")

    def grown(x):
        return while_loop(lambda c: c < 100.0, lambda c: c * c + 1, x)

    with pytest.raises(NotImplementedError, match=r"grown keeps values of a loop .*object for x86_64-none cannot"):
        build(grad(grown), (1.0,), name="k", out=tmp_path, target="x86_64-none")
    assert not list(tmp_path.iterdir())
