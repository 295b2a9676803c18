"""Long lists of operations on single numbers: right, in pieces, and compiled in a time that grows as they do."""

import re
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, value_and_grad
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.primitive import REGISTRY as P
from pullback.compiler.ir.types import Type
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests.lines import PIECE, lines
from pullback.compiler.lowering.show import show_program
from pullback.compiler.settings import settings
from tests.work import calls_of


@pytest.fixture(autouse=True)
def _straight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are unrolled, and stay so."""
    monkeypatch.setattr("pullback.compiler.frontend.trace.needs_walk", lambda function: False)
    monkeypatch.setattr("pullback.runtime.compiled.function.rerolled", lambda traced: traced)


def unrolled(count):
    """About `count` operations of two numbers."""

    def f(x, y):
        for k in range(count // 8):
            x = x * 0.5 + np.sin(y) / (1.5 + k % 3)
            y = np.where(x > 0.25, y * 0.75 - x, np.exp(-y * y))
        return x * y

    return f


def _inner(function: Any) -> Any:
    return function.__wrapped__


def both(function, *args, **options):
    """The result of native code and of the reference executor."""
    native = value_and_grad(function, **options)
    with settings.override(reference=True):
        wanted = value_and_grad(function, **options)(*args)
    return native, native(*args), wanted


@pytest.mark.parametrize(("count", "pieces"), [(40, 1), (100, 1), (2000, 17)])
@pytest.mark.parametrize("kind", [float, np.float32])
def test_values_and_gradients_are_those_of_the_reference(count, pieces, kind):
    native, got, wanted = both(unrolled(count), kind(0.3), kind(-0.8), argnums=(0, 1))
    rtol = 1e-12 if kind is float else 1e-4
    np.testing.assert_allclose([got[0], *got[1]], [wanted[0], *wanted[1]], rtol=rtol)
    several = pieces if pieces > 1 else 0
    assert native.ir("loops").count("  piece ") == several
    assert native.ir("llvm").count("define internal void @kernel.f_grad.piece") == several


def test_all_levels_and_both_tiers_give_the_same_bits():
    seen = set()
    for level in (None, 0, 1, 2, 3):
        with settings.override(level=level):
            native: Any = value_and_grad(unrolled(1600))
            seen.add(repr(native(0.3, -0.8)))
            if level is None:
                native._latest.kernel.code.upgrade()
                seen.add(repr(native(0.3, -0.8)))
    assert len(seen) == 1


def test_results_may_be_numbers_arguments_and_the_same_twice():
    @jit
    def f(x, y, flag):
        z = x
        for k in range(2 * PIECE):
            z = z * 0.5 + y if k % 2 else z - y * flag
        return z, x, 2.0, y > z, z, flag, np.float32(1) * np.float32(2)

    got = f(0.5, 0.25, 3)
    with settings.override(reference=True):
        wanted = jit(_inner(f))(0.5, 0.25, 3)
    assert repr(got) == repr(wanted)


def test_elements_of_arrays_are_read_at_fixed_places():
    @jit
    def f(x):
        z = x[0, 0]
        for k in range(4 * PIECE):
            z = z * 0.5 + x[k % 2, k % 3]
        return z

    x = np.arange(6.0).reshape(2, 3)
    with settings.override(reference=True):
        wanted = jit(_inner(f))(x)
    assert f(x) == wanted and "piece 0" in f.ir("loops") and "for " not in f.ir("loops")


@pytest.mark.parametrize("shape", [(2,), (3, 1)])
def test_other_graphs_are_left_to_nests(shape):
    b = Builder("arrays", [Type("f64", shape)])
    (x,) = b.params
    for _ in range(2 * PIECE):
        x = P["mul"](b, x, x)
    graph = b.finish([x])
    assert lines(graph) is None and "for i in" in show_program(lower(graph))


def test_checked_reads_are_left_to_nests():
    @jit
    def f(x, i):
        z = x[i]
        for _ in range(2 * PIECE):
            z = z * 0.5 + x[0]
        return z

    assert f(np.arange(3.0), 2) == pytest.approx(2 * 0.5 ** (2 * PIECE) + 0.0)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        f(np.arange(3.0), 3)


def test_the_work_grows_as_the_number_of_operations():
    """Before LLVM in calls of functions; in LLVM, whose passes are quadratic in a function, no function grows."""

    def work(count):
        texts = []
        calls = calls_of(lambda: texts.append(grad(unrolled(count)).ir("llvm", 0.3, -0.8)))
        return calls, max(body.count("\n") for body in re.findall(r"^define .*?^}", texts[0], re.M | re.S))

    work(250)
    (calls, longest), (more, still) = work(500), work(2000)
    assert more < 5 * calls, (calls, more)
    assert still < 1.5 * longest, (longest, still)


@pytest.mark.parametrize("count", [20, 80])
def test_an_array_of_many_numbers_is_written_in_one_function(count: int) -> None:
    """As a nest each, every number would have a function of its own, with a cosine written out."""
    f = jit(lambda x: np.stack([np.cos(x[k] * x[k - 1]) / x[k] for k in range(count)]))
    x = np.linspace(1.0, 2.0, count)
    np.testing.assert_allclose(f(x), np.cos(x * np.roll(x, 1)) / x, rtol=1e-15)
    assert f.ir("llvm").count("define") <= 5
