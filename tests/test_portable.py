"""What operations that call LAPACK or NumPy are as loops of the graph, against what they mean; and modules of them."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import build, grad, jit, load_kernel
from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.primitive import Primitive
from pullback.compiler.ir.types import type_of
from pullback.compiler.ops import ordering
from pullback.compiler.ops.external import calls_of
from pullback.compiler.ops.linalg import factor, spectra
from pullback.runtime.portable.replacing import DEFINITIONS, without_libraries

SIGNED = {factor.qr, spectra.eigh, spectra.svd}
"""Operations whose results have signs that nothing decides."""


def graph_of(prim: Primitive, args: list[np.ndarray], attributes: Mapping[str, Any]) -> Graph:
    b = Builder(prim.name, [type_of(a) for a in args])
    return b.finish(b.emit(prim, *b.params, **attributes))


def decided(prim: Primitive, x: np.ndarray, attributes: Mapping[str, Any], parts: list[np.ndarray]) -> list[np.ndarray]:
    """What of results is not left to whoever computes them: no signs of vectors, no order within a part."""
    if prim is not ordering.argpartition:
        return [np.abs(p) for p in parts] if prim in SIGNED else parts
    there = np.take_along_axis(x, parts[0], -1)
    ends = [0, *attributes["kth"], there.shape[-1]]
    for one, other in itertools.pairwise(ends):
        there[..., one:other] = np.sort(there[..., one:other], -1)
    return [np.sort(parts[0], -1), there]


@pytest.mark.parametrize("prim", DEFINITIONS, ids=lambda prim: prim.name)
def test_a_definition_is_what_the_operation_means(prim: Primitive) -> None:
    for args, attributes in prim.samples(np.random.default_rng(5)):
        given = [np.asarray(a) for a in args]
        graph = graph_of(prim, given, attributes)
        portable = without_libraries(graph)
        assert not list(calls_of(portable))
        made, wanted = (decided(prim, given[0], attributes, evaluate(each, given)) for each in (portable, graph))
        for one, other in zip(made, wanted, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            tolerance = 1e-3 if one.dtype == np.float32 else 1e-10
            np.testing.assert_allclose(one, other, tolerance, tolerance)


def likelihood(scales: Any, x: Any, y: Any) -> Any:
    apart = x[:, None] - x[None, :]
    low = np.linalg.cholesky(scales[0] * np.exp(-0.5 * apart * apart / scales[1]) + 0.1 * np.eye(len(y)))
    half = np.linalg.solve(low, y)
    return 0.5 * half @ half + np.sum(np.log(np.diag(low)))


def filtered(noise: Any, rows: Any) -> Any:
    """Six states, five of which are seen: systems of five equations in a loop."""
    move, sees, x, p, total = 0.9 * np.eye(6) + 0.1 * np.eye(6, k=1), np.eye(5, 6), np.zeros(6), np.eye(6), 0.0
    for row in rows:
        x, p = move @ x, move @ p @ move.T + noise * np.eye(6)
        s = sees @ p @ sees.T + 0.1 * np.eye(5)
        error, gain = row - sees @ x, np.linalg.solve(s, sees @ p).T
        total = total + error @ np.linalg.solve(s, error) + np.linalg.slogdet(s)[1]
        x, p = x + gain @ error, p - gain @ sees @ p
    return total


def spectrum(x: Any) -> Any:
    return np.sum(np.abs(np.fft.rfft(x)) ** 2 * np.arange(len(x) // 2 + 1)) + np.median(x)


def values(a: Any) -> Any:
    w, v = np.linalg.eigh(a @ a.T)
    return np.sum((v * np.log(w)) @ v.T) + np.linalg.norm(a, "nuc") + np.linalg.det(a)


RNG = np.random.default_rng(7)
PROGRAMS = {
    "likelihood": (likelihood, (np.array([1.0, 0.5]), np.linspace(0, 3, 12), RNG.normal(size=12))),
    "filtered": (filtered, (0.1, RNG.normal(size=(7, 5)))),
    "spectrum": (spectrum, (RNG.normal(size=30),)),
    "values": (values, (RNG.normal(size=(5, 5)),)),
    "batch": (lambda a, b: np.sum(np.linalg.solve(a, b)), (RNG.normal(size=(2, 6, 6)), RNG.normal(size=(2, 6, 3)))),
    "single": (lambda a, b: np.sum(np.linalg.inv(a) @ b), (RNG.normal(size=(6, 6)).astype("f"), np.ones(6, "f"))),
}


def test_modules_have_linear_algebra_transforms_and_sorts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = {name: jit(function) for name, (function, _) in PROGRAMS.items()}
    functions |= {f"{name}_grad": grad(function) for name, (function, _) in PROGRAMS.items()}
    examples = {name: PROGRAMS[name.removesuffix("_grad")][1] for name in functions}
    path = build(functions, examples, name="algebra", out=tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("algebra")
    for name, function in functions.items():
        tolerance = 1e-3 if name.startswith("single") else 1e-9
        np.testing.assert_allclose(getattr(module, name)(*examples[name]), function(*examples[name]), tolerance)
    again = load_kernel(path, name="likelihood")
    given = examples["likelihood"]
    np.testing.assert_allclose(grad(again)(*given), functions["likelihood_grad"](*given), 1e-9)


def test_a_module_says_that_a_matrix_is_singular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build({"x": jit(lambda a, b: np.linalg.solve(a, b))}, {"x": (np.eye(6), np.ones(6))}, name="singular", out=tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("singular")
    np.testing.assert_allclose(module.x(2 * np.eye(6), np.ones(6)), np.full(6, 0.5))
    with pytest.raises(ValueError, match="LinAlgError: Singular matrix"):
        module.x(np.ones((6, 6)), np.ones(6))


@pytest.mark.parametrize("target", ["thumbv7em-none", "wasm32"])
def test_small_machines_have_them_too(tmp_path: Path, target: str) -> None:
    example = PROGRAMS["filtered"]
    made = build(grad(example[0]), example[1], name="small", out=tmp_path, target=target)
    assert made.stat().st_size > 1000


def test_what_has_no_definition_is_refused(tmp_path: Path) -> None:
    function = jit(lambda a: np.sum(np.abs(np.linalg.eigvals(a))))
    with pytest.raises(TypeError, match="calls external eig"):
        build({"f": function}, {"f": (np.eye(5),)}, name="no", out=tmp_path)
    with pytest.raises(TypeError, match=r"calls external sort|known by name"):
        build({"f": jit(np.sort)}, {"f": (np.ones(5),)}, name="no", out=tmp_path, sizes={"a": ("n",)})
