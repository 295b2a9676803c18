"""Modules with sizes known by name: one file for every size, compared with NumPy and with what is compiled here."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import build, grad, hvp, jit, load_kernel, value_and_grad
from pullback.__main__ import main
from tests.built import LINKER, alone

NM, N = ("n", "m"), ("n",)
SIZES = (0, 1, 2, 3, 8, 17, 100)

pytestmark = pytest.mark.skipif(LINKER is None, reason="there is no linker")


def loss(w, x):
    """Mean of squares."""
    return np.mean(np.tanh(x @ w) ** 2)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def covariance(x):
    d = x - x.mean(0)
    return d.T @ d / x.shape[0]


def cross_entropy(w, x, y):
    z = x @ w
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - (z * y).sum(axis=1))


def smooth(x):
    return np.sum((x[1:] - x[:-1]) ** 2 * np.sin(x[1:]))


def halves(x):
    middle = x.shape[0] // 2
    return (x[:middle] ** 2).sum() - x[middle:].sum()


def branch(x):
    return x.sum() if x.shape[0] > 10 else (x * x).sum()


def outer(x, y):
    return np.tanh(x[:, None] * y[None, :]).sum()


def joined(x, y):
    return (np.concatenate([x, y[::-1], x]) ** 3).sum()


def squares(x, i):
    return (x[i] ** 2).sum()


CASES: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = {
    "loss": (value_and_grad(loss, argnums=(0, 1)), {"w": (5,), "x": ("n", 5)}),
    "softmax": (jit(softmax), {"x": NM}),
    "softmax_grad": (grad(lambda x: (softmax(x) ** 2).sum()), {"x": NM}),
    "covariance": (jit(covariance), {"x": NM}),
    "covariance_grad": (grad(lambda x: covariance(x).sum()), {"x": NM}),
    "cross_entropy": (value_and_grad(cross_entropy), {"w": (5, 3), "x": ("n", 5), "y": ("n", 3)}),
    "smooth": (value_and_grad(smooth), {"x": N}),
    "curvature": (hvp(smooth), {"x": N, "vector[0]": N}),
    "halves": (grad(halves), {"x": N}),
    "branch": (grad(branch), {"x": N}),
    "outer": (value_and_grad(outer, argnums=(0, 1)), {"x": N, "y": ("m",)}),
    "joined": (grad(joined, argnums=(0, 1)), {"x": N, "y": ("m",)}),
    "flat": (grad(lambda x: (x.reshape(-1) ** 3).sum()), {"x": NM}),
    "products": (jit(lambda x, y: x @ y), {"x": NM, "y": ("m", "k")}),
    "narrow": (grad(lambda x: (x.astype(np.float32) * 2).sum()), {"x": N}),
    "largest": (value_and_grad(lambda x: x[np.argmax(x)]), {"x": N}),
    "tree": (grad(lambda p, x: np.tanh(x @ p["a"] + p["b"]).sum()), {"p['a']": NM, "p['b']": ("m",), "x": ("k", "n")}),
}


def arguments(name: str, at: dict[str, int], rng: np.random.Generator) -> tuple[Any, ...]:
    shapes = {path: tuple([int(at.get(d, d)) for d in shape]) for path, shape in CASES[name][1].items()}  # type: ignore
    made = {path: rng.normal(size=shape) for path, shape in shapes.items()}
    if name == "tree":
        return {"a": made["p['a']"], "b": made["p['b']"]}, made["x"]
    return tuple(made.values())


def names_of(name: str) -> list[str]:
    return list(dict.fromkeys(d for shape in CASES[name][1].values() for d in shape if isinstance(d, str)))


def leaves(x: Any) -> list[np.ndarray]:
    if isinstance(x, dict):
        x = tuple(x.values())
    return [leaf for each in x for leaf in leaves(each)] if isinstance(x, (tuple, list)) else [np.asarray(x)]


@functools.cache
def module(folder: Path, name: str) -> Any:
    """The module of one case, imported into this process."""
    rng, fn = np.random.default_rng(1), CASES[name][0]
    at = dict.fromkeys(names_of(name), 4)
    rule = CASES[name][1]
    path = build({name: fn}, {name: arguments(name, at, rng)}, name=f"sized_{name}", out=folder, sizes=rule)
    return imported(path)


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sized")


@pytest.mark.parametrize("name", CASES)
def test_every_size(folder: Path, name: str) -> None:
    """What the function gives here at each size, and where it raises, the module does, too."""
    rng, fn = np.random.default_rng(2), CASES[name][0]
    theirs = getattr(module(folder, name), name)
    for numbers in itertools.product(SIZES, repeat=len(names_of(name))):
        if len(numbers) == 3 and sum(n in (2, 8, 100) for n in numbers) > 1:
            continue
        given = arguments(name, dict(zip(names_of(name), numbers, strict=True)), rng)
        with np.errstate(all="ignore"):
            try:
                wanted = leaves(fn(*given))
            except (ValueError, IndexError):
                with pytest.raises(ValueError, match="has no code for"):
                    theirs(*given)
                continue
            got = leaves(theirs(*given))
        for a, b in zip(got, wanted, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, 1e-5 if b.dtype == np.float32 else 1e-9, 1e-11, err_msg=f"{numbers}")


def test_an_index_that_is_out_of_range(folder: Path) -> None:
    path = build({"f": grad(squares)}, {"f": (np.ones(3), np.zeros(2, int))}, name="picked", out=folder,
                 sizes={"x": N, "i": ("m",)})
    f, x = imported(path).f, np.arange(50.0)
    np.testing.assert_array_equal(f(x, np.array([3, 3, 49]))[[3, 49]], [12.0, 98.0])
    with pytest.raises(IndexError, match="index 50 is out of bounds for axis 0 with size n"):
        f(x, np.array([0, 50]))


def test_what_does_not_agree(folder: Path) -> None:
    f = module(folder, "cross_entropy").cross_entropy
    w, x, y = np.ones((5, 3)), np.ones((7, 5)), np.ones((7, 3))
    with pytest.raises(ValueError, match=r"argument y has shape \(6, 3\), expected .* shape \(n, 3\), with the n of x"):
        f(w, x, y[:6])
    with pytest.raises(ValueError, match=r"argument x has shape \(7, 4\), expected an array .* shape \(n, 5\)"):
        f(w, x[:, :4], y)
    with pytest.raises(ValueError, match=r"argument x has shape \(7,\), expected"):
        f(w, x[:, 0], y)
    with pytest.raises(TypeError, match="argument x is of type int, expected an array of float64"):
        f(w, 1, y)
    with pytest.raises(TypeError, match="buffer of format 'f'"):
        f(w, x.astype(np.float32), y)
    got, wanted = f(w, x[::-1], np.asfortranarray(y)), CASES["cross_entropy"][0](w, x, y)
    np.testing.assert_allclose(got[1], wanted[1])


def test_the_command_and_an_empty_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text("import numpy as np\n\n\ndef loss(w, x):\n    return np.mean((x @ w) ** 2)\n")
    words = ["--args", "f64[2], f64[n,2]", "--with", "value,grad,hvp", "-o", str(tmp_path / "mine")]
    assert main(["build", f"{tmp_path}/model.py:loss", *words]) == 0
    assert capsys.readouterr().out.strip().endswith("mine.abi3.so")
    said = alone(tmp_path, """
        import mine
        w, v = (array.array("d", each) for each in ([1.0, 2.0], [1.0, 0.0]))
        for n in (1, 2, 64):
            x = memoryview(array.array("d", [1.0, 0.5] * n)).cast("B").cast("d", (n, 2))
            print(mine.loss(w, x), list(mine.loss_grad(w, x)), list(mine.loss_hvp(w, x, v)))
        assert "x: an array of float64, shape (n, 2)" in mine.loss.__doc__ and "any sizes" in mine.loss.__doc__
    """)
    assert said.splitlines() == ["4.0 [4.0, 2.0] [2.0, 1.0]"] * 3
    assert "x: Buffer | NDArray[float64]" in (tmp_path / "mine.pyi").read_text()


IN_C = """
#include <stdio.h>
#include <stdlib.h>
#include "sized_loss.h"

int main(void) {
    static double w[5] = {1, 2, 3, 4, 5};
    for (int64_t n = 1; n < 200000; n = 3 * n + 1) {
        int64_t sizes[1] = {n}, report[4];
        double *x = malloc(n * 5 * sizeof *x), *slope = malloc(n * 5 * sizeof *x), value, of_w[5];
        for (int64_t k = 0; k < n * 5; k++) x[k] = (double)(k % 7) / 70;
        int64_t status = sized_loss_loss(sizes, w, x, &value, of_w, slope, report);
        printf("%lld %lld %.17g %.17g %.17g\\n", (long long)n, (long long)status, value, of_w[4], slope[5 * n - 1]);
        free(x);
        free(slope);
    }
    int64_t none[1] = {-1}, report[4];
    printf("%lld\\n", (long long)sized_loss_loss(none, w, w, w, w, w, report));
    return 0;
}
"""


def test_from_c(folder: Path) -> None:
    """Sizes come first; what the header says, and the same numbers as here."""
    module(folder, "loss")
    header = (folder / "sized_loss.h").read_text()
    assert "const int64_t *sizes, /* n */" in header and "const double *x, /* n x 5 */" in header
    (folder / "main.c").write_text(IN_C)
    assert LINKER
    parts = [str(folder / "main.c"), str(folder / "sized_loss.o")]
    subprocess.run([LINKER, *parts, f"-I{folder}", "-lm", "-o", str(folder / "main")], check=True, timeout=60)
    told = subprocess.run([str(folder / "main")], capture_output=True, text=True, check=True).stdout.splitlines()
    assert told.pop() == "-3" and len(told) == 11
    for line in told:
        n, status, *numbers = line.split()
        x = (np.arange(5 * int(n)) % 7 / 70).reshape(-1, 5)
        value, (of_w, slope) = CASES["loss"][0](np.arange(1.0, 6.0), x)
        assert status == "0"
        np.testing.assert_allclose([float(k) for k in numbers], [value, of_w[4], slope[-1, -1]], 1e-11)


def test_a_loaded_kernel_is_a_function_of_every_size(folder: Path) -> None:
    rng = np.random.default_rng(3)
    for name in ("smooth", "loss"):
        module(folder, name)
        loaded = load_kernel(folder / f"sized_{name}.abi3.so")
        for n in (2, 5, 40):
            given = arguments(name, {"n": n}, rng)
            for a, b in zip(leaves(loaded(*given)), leaves(CASES[name][0](*given)), strict=True):
                np.testing.assert_allclose(a, b, 1e-9)
    x = rng.normal(size=6)
    twice = grad(lambda x: load_kernel(folder / "sized_smooth.abi3.so")(x)[1].sum())
    np.testing.assert_allclose(twice(x), hvp(smooth)(x, np.ones(6)), 1e-9)


def kept(x):
    return np.zeros(int(x.shape[0])) + x


def repeated(x):
    return np.sum(np.repeat(x, 3) ** 2) + np.sum(np.tile(x, 2) ** 3)


REFUSED = {
    "number": (kept, {"x": N}, (np.ones(4),), r"n is fixed by int\(\) of it at .*test_build_sizes.py"),
    "repeated": (grad(repeated), {"x": N}, (np.ones(4),), "what code is written depends on its number"),
    "size": (lambda x: (x, x.shape[0]), {"x": N}, (np.ones(4),), "returns the size n"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_a_number_is_refused_with_the_line(tmp_path: Path, name: str) -> None:
    fn, sizes, example, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        build({name: jit(fn)}, {name: example}, name="k", out=tmp_path, sizes=sizes)
    assert not list(tmp_path.iterdir())


def test_sizes_are_for_modules(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match=r"has temporaries whose size n tells.* x86_64-none"):
        build(jit(covariance), (np.ones((4, 2)),), name="k", out=tmp_path, target="x86_64-none", sizes={"x": ("n", 2)})
    with pytest.raises(TypeError, match=r"x.shape\[0\] is 4, but sizes says 5"):
        build(jit(smooth), (np.ones(4),), name="k", out=tmp_path, sizes={"x": (5,)})
    with pytest.raises(ValueError, match="sizes has 'z'"):
        build(jit(smooth), (np.ones(4),), name="k", out=tmp_path, sizes={"z": N})


def test_the_names_of_the_transform_count(tmp_path: Path) -> None:
    path = build(value_and_grad(smooth, sizes={"x": N}), (np.ones(40),), name="k", out=tmp_path)
    x = np.random.default_rng(4).normal(size=9)
    np.testing.assert_allclose(imported(path).smooth(x)[1], pullback.grad(smooth)(x), 1e-9)


FAR = r"""
#include <stdio.h>
#include <stdlib.h>
#include "far.h"
int main(void) {
    int64_t sizes[2], report[4];
    while (scanf("%ld %ld", sizes, sizes + 1) == 2) {
        int64_t n = sizes[0], m = sizes[1];
        double *w = calloc(n > 0 ? n : 1, 8), *x = calloc(n > 0 && m > 0 ? n * m : 1, 8), value, total = 0;
        double *slope = calloc(n > 0 ? n : 1, 8), branched;
        for (int64_t k = 0; k < n; ++k) w[k] = (double)(k % 7) / 5;
        for (int64_t k = 0; k < n * m; ++k) x[k] = (double)(k % 11) / 10;
        int64_t status = far_loss(sizes, w, x, &value, slope, report);
        int64_t other = far_branch(sizes, w, &branched, report);
        for (int64_t k = 0; k < n; ++k) total += slope[k] * (k + 1);
        printf("%d %.17g %.17g %d %.17g\n", (int)status, value, total, (int)other, branched);
    }
    return 0;
}
"""


@pytest.mark.skipif(LINKER is None or platform.machine() != "x86_64", reason="what is run is for Linux on x86-64")
def test_sizes_of_objects_for_other_machines(tmp_path: Path) -> None:
    """One object for all sizes, called from C; a function without temporaries where there is no malloc."""
    both = {"loss": value_and_grad(loss, sizes={"w": N, "x": ("m", "n")}), "branch": jit(branch, sizes={"x": N})}
    given = {"loss": (np.ones(4), np.ones((5, 4))), "branch": (np.ones(4),)}
    build(both, given, name="far", out=tmp_path, target="x86_64-linux")
    (tmp_path / "main.c").write_text(FAR)
    assert LINKER
    files = [str(tmp_path / "main.c"), str(tmp_path / "far.o"), "-lm", "-o", str(tmp_path / "main")]
    subprocess.run([LINKER, f"-I{tmp_path}", *files], check=True, timeout=60)
    sizes = [(1, 1), (3, 2), (17, 5), (100, 40), (-1, 2)]
    told = subprocess.run([str(tmp_path / "main")], input="".join(f"{n} {m}\n" for n, m in sizes), capture_output=True,
                          text=True, check=True, timeout=60).stdout.splitlines()  # fmt: skip
    for (n, m), each in zip(sizes, told, strict=True):
        status, value, total, other, branched = map(float, each.split())
        if n < 0:
            assert status == other == -3
            continue
        w, x = np.arange(n) % 7 / 5, np.reshape(np.arange(n * m) % 11 / 10, (m, n))
        want, slope = value_and_grad(loss)(w, x)
        wanted = [want, slope @ np.arange(1.0, n + 1), branch(w)]
        np.testing.assert_allclose([value, total, branched], wanted, rtol=1e-12)
        assert status == other == 0
    path = build(jit(smooth, sizes={"x": N}), (np.ones(40),), name="bare", out=tmp_path, target="thumbv7em-none")
    assert path.name == "bare.o" and "const int64_t *sizes, /* n */" in (tmp_path / "bare.h").read_text()
