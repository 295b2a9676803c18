"""Objects of other machines whose functions have sizes known by name; those of WebAssembly run under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.extension.targets import TARGETS
from pullback.runtime.compiled.build import build
from pullback.runtime.control import while_loop
from pullback.runtime.transforms import grad, jit, value_and_grad

NODE = shutil.which("node")


def loss(p, x, y):
    """Two layers: temporaries of sizes that nobody knows before the call."""
    h = np.tanh(x @ p["w"][0] + p["b"])
    return np.mean((h @ p["w"][1] - y) ** 2)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def smooth(x):
    return np.sum((x[1:] - x[:-1]) ** 2 * np.sin(x[1:]))


def halves(x):
    middle = x.shape[0] // 2
    return (x[:middle] ** 2).sum() - x[middle:].sum(), x[middle:] * 2


def branch(x):
    return x[1:] if x.shape[0] > 10 else x * x


def grown(x):
    return while_loop(lambda c: c < 100.0, lambda c: c * c + 1, x)


def problem(n: int) -> tuple[Any, ...]:
    r = np.random.default_rng(n)
    p = {"w": [r.normal(size=(3, 5)), r.normal(size=5)], "b": r.normal(size=5)}
    return p, r.normal(size=(n, 3)), r.normal(size=n)


def rows(n: int, m: int) -> np.ndarray:
    return np.sin(np.arange(n * m, dtype=float) * 1.7).reshape(n, m)


FUNCTIONS = {
    "loss": value_and_grad(loss), "softmax": jit(softmax), "smooth": grad(smooth), "halves": jit(halves),
    "branch": jit(branch), "grown": grad(grown),
}
EXAMPLES = {
    "loss": problem(40), "softmax": (rows(40, 30),), "smooth": (rows(40, 1)[:, 0],), "halves": (rows(40, 1)[:, 0],),
    "branch": (rows(40, 1)[:, 0],), "grown": (0.1,),
}
SIZES = {"loss": {"x": ("n", 3), "y": ("n",)}, "softmax": {"x": ("n", "m")}}
SIZES |= {name: {"x": ("n",)} for name in ("smooth", "halves", "branch")}

SCRIPT = """
import {readFileSync} from "fs";
const Memory = WebAssembly.Memory;
let memory;
WebAssembly.Memory = class extends Memory { constructor(told) { super(told); memory = this; } };
const raised = (call) => { try { return call(); } catch (error) { return error.name + ": " + error.message; } };
const kernels = {};
for (const name of NAMES) {
  const {load} = await import(`./${name}.mjs`);
  kernels[name] = (await load(readFileSync(new URL(`./${name}.wasm`, import.meta.url))))[name];
}
const results = CALLS.map(([name, sizes, args]) => {
  const given = args.map((each) => (Array.isArray(each) ? new Float64Array(each) : each));
  return kernels[name](...(sizes ? [sizes] : []), ...given).map((a) => (ArrayBuffer.isView(a) ? [...a] : a));
});
const {load} = await import("./loss.mjs");
const {loss} = await load(readFileSync(new URL("./loss.wasm", import.meta.url)));
const given = (n) => [{n}, ...[15, 5, 5, 3 * n, n].map((size) => new Float64Array(size).fill(0.1))];
loss(...given(5000));
const before = memory.buffer.byteLength;
for (let n = 4900; n > 0; n -= 53) loss(...given(n));
const x = new Float64Array(7);
const errors = [
  () => kernels.smooth(x), () => kernels.smooth({m: 7}, x), () => kernels.smooth({n: 7, m: 1}, x),
  () => kernels.smooth({n: 8}, x), () => kernels.smooth({n: -1}, x), () => kernels.smooth({n: 7}),
  () => kernels.softmax({n: 2, m: 4}, x), () => kernels.smooth({n: 7.5}, x),
].map(raised);
console.log(JSON.stringify([results, memory.buffer.byteLength - before, errors]));
"""


def calls() -> list[tuple[str, dict[str, int] | None, tuple[Any, ...]]]:
    made: list[tuple[str, dict[str, int] | None, tuple[Any, ...]]] = [("grown", None, (0.1,)), ("grown", None, (3.0,))]
    made += [("loss", {"n": n}, problem(n)) for n in (1, 2, 17, 600)]
    made += [("softmax", {"n": n, "m": m}, (rows(n, m),)) for n, m in ((1, 1), (3, 70), (65, 4), (0, 3))]
    for name in ("smooth", "halves", "branch"):
        made += [(name, {"n": n}, (rows(n, 1)[:, 0],)) for n in (1, 2, 9, 10, 11, 12, 500)]
    return made


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list | tuple) else [value]


@pytest.mark.skipif(NODE is None, reason="there is no Node")
def test_web_assembly_of_every_size(tmp_path: Path) -> None:
    """Results are those of the same functions here, memory is given back, and what does not fit is refused."""
    for name, fn in FUNCTIONS.items():
        build({name: fn}, {name: EXAMPLES[name]}, name=name, out=tmp_path, target="wasm32", sizes=SIZES.get(name))
    given = [(name, sizes, [np.ravel(a).tolist() if isinstance(a, np.ndarray) else a for a in leaves(args)])
             for name, sizes, args in calls()]
    script = SCRIPT.replace("NAMES", json.dumps(list(FUNCTIONS))).replace("CALLS", json.dumps(given))
    (tmp_path / "run.mjs").write_text(script)
    assert NODE
    done = subprocess.run([NODE, str(tmp_path / "run.mjs")], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    results, more, errors = json.loads(done.stdout)
    for (name, sizes, args), made in zip(calls(), results, strict=True):
        wanted = leaves(FUNCTIONS[name](*args))
        assert len(made) == len(wanted)
        for a, b in zip(made, wanted, strict=True):
            np.testing.assert_allclose(np.ravel(a), np.ravel(b), rtol=1e-11, atol=1e-13, err_msg=f"{name} {sizes}")
    assert more == 0
    assert errors == [
        "TypeError: smooth takes an object with its sizes {n} first",
        "TypeError: smooth has no size m: its sizes are {n}",
        "TypeError: smooth has no size m: its sizes are {n}",
        "RangeError: smooth: argument x has 7 elements, expected n = 8",
        "RangeError: smooth: size n is -1, expected an integer from 0 on",
        "TypeError: smooth takes ({n}, x), got 1 arguments",
        "RangeError: softmax: argument x has 7 elements, expected n x m = 8",
        "RangeError: smooth: size n is 7.5, expected an integer from 0 on",
    ]


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target_of_every_size(tmp_path: Path, target: str) -> None:
    """Only what a user calls can be called, and the header has the sizes first."""
    path = build({"f": FUNCTIONS["smooth"]}, {"f": EXAMPLES["smooth"]}, name="far", out=tmp_path, target=target,
                 sizes=SIZES["smooth"])
    assert b"far_f" in path.read_bytes()
    told = (tmp_path / "far.h").read_text()
    assert "const int64_t *sizes, /* n */" in told and "-3: sizes that it has no code for" in told
