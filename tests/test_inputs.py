"""What strangers hand in, spoilt at random 50,000 times: the declared error, and soon; `make fuzz-inputs` goes on."""

from __future__ import annotations

import os
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import KernelError, ParseError, grad, jit, load_kernel, parse, vmap
from pullback.compiler.backend.extension import MAGIC, seal, unpack
from pullback.compiler.ir.text import show
from tests import built
from tests.fuzz import inputs

GOLDENS = [Path(__file__).parent / "golden" / f"kernels-format-{k}.bin" for k in (1, 2)]
GOLDEN = GOLDENS[0]
CHUNK = 10_000


@pytest.mark.parametrize("start", range(0, 40_000, CHUNK))
def test_texts(start: int) -> None:
    good = inputs.run(inputs.text, range(start, start + CHUNK))
    assert CHUNK // 50 < good < CHUNK // 2, "they are all alike"


def test_modules() -> None:
    good = inputs.run(inputs.module, range(CHUNK))
    assert CHUNK // 100 < good < CHUNK // 2, "they are all alike"


def test_a_text_that_is_taken_is_compiled() -> None:
    """Nothing that the verifier has passed is refused later, by LLVM least of all."""
    draw, made = inputs.random.Random(3), 0
    while made < 40:
        try:
            function = parse(inputs.mutant(draw))
        except ParseError:
            continue
        assert "define" in str(function.ir("llvm"))
        made += 1


BOMBS = {
    "brackets": b'{"functions": ' + b"[" * 10**6,
    "numbers": b'{"functions": [' + b"9" * 10**6 + b"]}",
    "a huge array": b'{"functions": [{"extras": [["f64", [99999999999, 99999999]]]}]}',
    "an array of many axes": b'{"functions": [{"extras": [["f64", [' + b"0, " * 10**5 + b"0]]]}]}",
    "many names": b'{"functions": [{"extras": [], "names": [' + b'"a", ' * 10**5 + b'"a"], "args": [], "result": []}]}',
    "a container of a million": b'{"functions": [{"extras": [], "names": ["a"], "args": [[["tuple", 1000000]]]}]}',
    "a chain of containers": (b'{"functions": [{"extras": [], "names": ["a"], "args": [[["float"], '
                              + b'["tuple", 1], ' * 10**5 + b'["tuple", 1]]], "result": []}]}'),
}


@pytest.mark.parametrize("what", BOMBS)
def test_bombs(what: str) -> None:
    data = seal(BOMBS[what], b"")
    tracemalloc.start()
    try:
        with pytest.raises(KernelError):
            unpack(data)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["../f", "f g", "1f", "class", "", "a\0b", "f" * 300, "f-g"])
def test_hostile_names(name: str) -> None:
    whole = inputs.carried()
    rest = whole.partition(b"\n")[2]
    length = int(whole[len(MAGIC):].split()[1])
    told = inputs.json.loads(rest[:length])
    told["functions"][0]["name"] = name
    with pytest.raises(KernelError, match="is no name"):
        unpack(seal(inputs.json.dumps(told).encode(), rest[length:]))


def test_odd_files(tmp_path: Path) -> None:
    pipe, empty, link = tmp_path / "pipe", tmp_path / "empty", tmp_path / "link"
    os.mkfifo(pipe)
    empty.write_bytes(b"")
    link.symlink_to("/dev/zero")
    for path in (pipe, tmp_path, link, empty, str(tmp_path) + "/a\0b", Path(__file__)):
        with pytest.raises(KernelError, match="load_kernel: "):
            load_kernel(path)
    with pytest.raises(FileNotFoundError):
        load_kernel(tmp_path / "absent")
    with pytest.raises(TypeError, match="path is a int"):
        load_kernel(3)  # type: ignore[arg-type]


def test_a_later_format_is_named(tmp_path: Path) -> None:
    later = MAGIC + b"4 0 0 " + b"0" * 64 + b"\n"
    with pytest.raises(KernelError, match="its format is 4, and this version reads 1 to 3: take a later pullback"):
        unpack(later)
    (tmp_path / "twice").write_bytes(later + inputs.carried())
    with pytest.raises(KernelError, match="twice': it carries functions at two places"):
        load_kernel(tmp_path / "twice")


# ---- what is loaded is what was built


@pytest.mark.parametrize("path", GOLDENS)
def test_a_module_of_each_format_is_read_for_ever(path: Path) -> None:
    f = load_kernel(path, "fit")
    value, slopes = f(*built.FIT)
    wanted, slopes_wanted = built.FUNCTIONS["fit"](*built.FIT)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    np.testing.assert_allclose(slopes["w"], slopes_wanted["w"], rtol=1e-13)
    assert load_kernel(path, "shifted")(built.X)[0] == 17.0, "arrays from outside are in it"
    with pytest.raises(ValueError, match=r"has the functions .*: say which, by name="):
        load_kernel(path)
    with pytest.raises(ValueError, match="has no function 'fits', but"):
        load_kernel(path, "fits")


def _path() -> Path:
    folder = built.kernels()
    if folder is None:
        pytest.skip("there is no linker")
    return next(folder.glob("*.so"))


@pytest.mark.parametrize("name", [name for name in built.FUNCTIONS if name != "many"])
def test_what_is_loaded_computes_the_same(name: str) -> None:
    loaded, made = load_kernel(_path(), name), jit(built.FUNCTIONS[name])
    got, want = (pullback.tree_flatten(f(*built.EXAMPLES[name]))[0] for f in (loaded, made))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert "return" in str(loaded.ir("graph"))


def test_what_is_loaded_is_differentiated_batched_and_built_again(tmp_path: Path) -> None:
    slope: Any = load_kernel(_path(), "slope")
    x = np.linspace(0.5, 2, 4)
    np.testing.assert_allclose(grad(slope)(2.0), 2 * np.cos(2) - 2 * np.sin(2), rtol=1e-14)
    np.testing.assert_allclose(vmap(slope)(x), np.sin(x) + x * np.cos(x), rtol=1e-14)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(slope))(2.0), slope(2.0))
    again = built.made(tmp_path, grad(slope), (2.0,), name="again")
    assert again is not None
    np.testing.assert_allclose(load_kernel(again)(2.0), grad(slope)(2.0))


def test_arguments_are_checked_by_their_paths() -> None:
    fit: Any = load_kernel(GOLDEN, "fit")
    p, x, k, mode = built.FIT
    for args, kind, words in (
        (({**p, "w": p["w"][:2]}, x, k, mode), TypeError, r"argument p\['w'\] is float64\[2, 2\], expected"),
        (({"w": p["w"]}, x, k, mode), TypeError, r"argument p is a dict with the keys \['w'\], expected"),
        (({**p, "b": []}, x, k, mode), TypeError, r"argument p\['b'\] is a list of 0 items, expected"),
        ((p, x, k, "plain"), ValueError, "argument mode is 'plain', expected 'scaled': it was fixed"),
        ((p, x.astype(np.float32), k, mode), TypeError, "argument x is float32"),
    ):
        with pytest.raises(kind, match=words):
            fit(*args)


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in (tmp_path, Path(__file__), GOLDEN):
        with pytest.raises(ValueError, match="load_kernel: "):
            load_kernel(path)
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_texts_that_modules_carry_are_those_they_show() -> None:
    first = unpack(_path().read_bytes())[0]
    assert first.name == "slope" and first.names == ("x",) and show(first.graph).startswith("graph @")
