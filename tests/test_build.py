"""Extension modules: written by `build`, imported by a Python that has nothing of ours, and compared."""

from __future__ import annotations

import ast
import doctest
import functools
import os
import re
import subprocess
import threading
from pathlib import Path

import numpy as np

from pullback.compiler.backend.extension import cpu
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse
from pullback.compiler.settings import settings
from pullback.runtime.compiled.build import build
from pullback.runtime.transforms import grad, jit, value_and_grad
from tests.built import FIT, FUNCTIONS, LINKER, SHIFT, X, alone, fit, fit_text, kernels, made, slope

# ---- values


def test_numbers_need_nothing() -> None:
    if folder := kernels():
        text = "import kernels; print(repr(kernels.slope(0.5)), kernels.slope(x=1)); assert absent('numpy')"
        assert alone(folder, text).split() == [repr(FUNCTIONS["slope"](0.5)), repr(FUNCTIONS["slope"](1.0))]


def test_arrays_without_numpy_are_memoryviews() -> None:
    folder = kernels()
    if not folder:
        return
    told = alone(
        folder,
        fit_text()
        + """
import kernels
value, slopes = kernels.fit(p, x, 2.0, "scaled")
assert type(value) is float and list(slopes) == ["w", "b"] and type(slopes["b"]) is list
for each in (slopes["w"], slopes["b"][0]):
    print(type(each).__name__, each.format, each.shape, each.tolist())
print(repr(value))
""",
    )
    value, slopes = FUNCTIONS["fit"](*FIT)
    wanted = [f"memoryview d {a.shape} {a.tolist()}" for a in (slopes["w"], slopes["b"][0])]
    assert told.splitlines() == [*wanted, repr(float(value))]


def test_arrays_with_numpy_are_arrays(tmp_path: Path) -> None:
    """Bit by bit what the same functions give here, for arguments of every layout."""
    folder = kernels()
    if not folder:
        return
    value, slopes = FUNCTIONS["fit"](*FIT)
    np.savez(
        tmp_path / "fit.npz", w=FIT[0]["w"], b=FIT[0]["b"][0], x=FIT[1], value=value, dw=slopes["w"], db=slopes["b"][0]
    )
    alone(
        folder,
        f"""
import kernels, numpy as np
d = np.load({str(tmp_path / "fit.npz")!r})
def layouts(a):
    wide = np.zeros(tuple(2 * n for n in a.shape)); every = tuple(slice(None, None, 2) for _ in a.shape)
    wide[every] = a
    odd = np.zeros(a.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(a.shape)
    odd[...] = a
    fixed = a.copy(); fixed.flags.writeable = False
    return [a, np.asfortranarray(a), wide[every], odd, fixed, memoryview(a), a[::-1].copy()[::-1]]
for w, x, b in zip(layouts(d["w"]), layouts(d["x"]), layouts(d["b"])):
    value, slopes = kernels.fit({{"w": w, "b": [b]}}, k=2, mode="scaled", x=x)
    assert value == d["value"], (value, d["value"])
    assert type(slopes["w"]) is np.ndarray and slopes["w"].flags.writeable and slopes["w"].flags.owndata
    assert (slopes["w"] == d["dw"]).all() and (slopes["b"][0] == d["db"]).all()
""",
        numpy=True,
    )


def test_every_kind_of_leaf() -> None:
    folder = kernels()
    if not folder:
        return
    told = alone(
        folder,
        """
import kernels
flags, row = memoryview(b"\\1\\0").cast("?"), array.array("i", [0, 1, 2])
made = kernels.many((1.0, 2.0), [row], flags, 4)
print(made["total"], made["flag"].tolist(), made["n"], made["more"][0].tolist(), made["more"][1])
print(kernels.ints(2**62, memoryview(array.array("q", [0, 1, 2, 3])).cast("B").cast("q", (2, 2)))[1, 1])
print(kernels.ints(2, memoryview(array.array("l", [0, 1, 2, 3])).cast("B").cast("l", (2, 2)))[1, 1])
""",
    )
    assert told.splitlines() == ["[3.0, (4.5,)] [False, True] 5 [0, 1, 2] None", str(2**62 + 3), "5"]


def test_arrays_from_outside_are_in_the_module() -> None:
    if folder := kernels():
        told = alone(
            folder, "import kernels; v, g = kernels.shifted(array.array('d', [1, 2, 4])); print(v, g.tolist())"
        )
        assert told == f"{0.5 - 3 + 10} {SHIFT.tolist()}\n"


def test_second_order() -> None:
    if folder := kernels():
        text = "import kernels; print(kernels.curve(*[array.array('d', [1, 4, 9])] * 2).tolist())"
        assert alone(folder, text) == f"{FUNCTIONS['curve'](X, X).tolist()}\n"


def test_empty_arrays_and_arrays_without_axes(tmp_path: Path) -> None:
    functions = {
        "flat": jit(lambda x: x * 2),
        "none": value_and_grad(lambda x: np.sum(x)),
        "point": grad(lambda x: x * x),
    }
    examples = {"flat": (np.zeros((0, 3)),), "none": (np.zeros(0),), "point": (np.array(2.0),)}
    if made(tmp_path, functions, examples, name="odd"):
        empty = "memoryview(array.array('d', [])).cast('B').cast('d')"
        told = alone(
            tmp_path,
            f"""
import odd
v, g = odd.none({empty}); print(v, g.shape, odd.point(3.0).shape, odd.point(3.0).tolist())
print(raised(lambda: odd.flat({empty})))
""",
        )
        assert told.splitlines() == [
            "0.0 (0,) () 6.0",
            "ValueError: flat: argument x has shape (0,), expected an array of float64, shape (0, 3)",
        ]
        assert (
            alone(tmp_path, "import odd, numpy; print(odd.flat(numpy.zeros((0, 3))).shape)", numpy=True) == "(0, 3)\n"
        )


# ---- what the module says of itself


def test_the_graph_is_in_the_module(tmp_path: Path) -> None:
    def cube(x):
        """The third power."""
        return x**3

    if made(tmp_path, grad(cube), (2.0,), name="cube_kernels"):
        text = "import cube_kernels as c; print(c.graph, '---', c.cpu, c.cube.__doc__, c.__doc__, sep='\\n')"
        graph, _, rest = alone(tmp_path, text).partition("---\n")
        assert evaluate(parse(graph.strip()), [np.array(2.0)])[0] == 12.0
        level, *doc = rest.splitlines()
        assert level == cpu.host_level().name
        assert "The third power." in doc and "    x: a float" in doc and "cube(x)" in doc


def test_signatures_and_help() -> None:
    if folder := kernels():
        text = "import inspect; from kernels import fit as f; print(inspect.signature(f), f.__name__, f.__module__)"
        assert alone(folder, text) == "(p, x, k, mode) fit kernels\n"


def test_the_stub_has_the_functions() -> None:
    folder = kernels()
    if not folder:
        return
    tree = ast.parse((folder / "kernels.pyi").read_text())
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    assert set(functions) == set(FUNCTIONS)
    assert (
        ast.unparse(functions["fit"].args)
        == "p: dict[str, Any], x: Buffer | NDArray[float64], k: float, mode: Literal['scaled']"
    )
    returns = functions["fit"].returns
    assert returns and ast.unparse(returns) == "tuple[float, dict[str, Any]]"


MAIN = r"""
#include <stdio.h>
#include "kernels.h"
int main(void) {
    double x[3] = {1, 4, 9}, out, made[3];
    double shift[3] = {0.5, -1.5, 2.5};
    int64_t index = 1, report[4] = {0};
    int64_t status = kernels_pick(x, &index, &out, report);
    printf("%lld %g\n", (long long)status, out);
    index = 7;
    status = kernels_pick(x, &index, &out, report);
    printf("%lld %lld\n", (long long)status, (long long)report[0]);
    status = kernels_shifted(x, shift, &out, made, report);
    printf("%lld %g %g\n", (long long)status, out, made[2]);
    return 0;
}
"""


def test_the_header_and_the_object_serve_c(tmp_path: Path) -> None:
    folder = kernels()
    if not folder:
        return
    (tmp_path / "main.c").write_text(MAIN)
    assert LINKER
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{folder}"]
    program = tmp_path / "main"
    subprocess.run(
        [LINKER, *flags, str(tmp_path / "main.c"), str(folder / "kernels.o"), "-lm", "-o", str(program)],
        check=True,
        timeout=60,
    )
    told = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60).stdout
    assert told == "0 8\n1 7\n0 17 2.5\n"


def test_files_are_small() -> None:
    if folder := kernels():
        assert sorted(os.listdir(folder)) == ["kernels.abi3.so", "kernels.h", "kernels.o", "kernels.pyi"]
        assert (folder / "kernels.abi3.so").stat().st_size < 100_000


def test_only_the_stable_interface_is_used() -> None:
    """Every name of Python that the module leaves open is in the stable interface of 3.11."""
    folder = kernels()
    if not folder:
        return
    stable = set(STABLE.split())
    data = (folder / "kernels.abi3.so").read_bytes()
    names = {word.decode() for word in data.split(b"\0") if re.fullmatch(rb"_?Py\w+", word)}
    assert "PyModuleDef_Init" in names and "PyErr_Format" in names
    assert names - stable == {"PyInit_kernels"}


STABLE = """
PyBool_FromLong PyBuffer_Release PyBuffer_ToContiguous PyByteArray_AsString PyByteArray_FromStringAndSize
PyBytes_AsString PyBytes_FromStringAndSize PyCapsule_GetPointer PyDict_GetItemString PyDict_GetItemWithError
PyDict_New PyDict_SetItem PyDict_Size PyDict_Type PyErr_Clear PyErr_ExceptionMatches PyErr_Format PyErr_NoMemory
PyErr_Occurred PyEval_RestoreThread PyEval_SaveThread PyExc_ImportError PyExc_IndexError PyExc_OverflowError
PyExc_TypeError PyExc_ValueError PyFloat_AsDouble PyFloat_FromDouble PyImport_GetModuleDict PyImport_ImportModule
PyList_GetItem PyList_New PyList_SetItem PyList_Size PyList_Type PyLong_AsLongLong PyLong_FromLongLong
PyLong_FromString PyMemoryView_FromObject PyModule_AddStringConstant PyModule_GetState PyModuleDef_Init
PyObject_CallMethod PyObject_GetAttrString PyObject_GetBuffer PyObject_RichCompareBool PyTuple_GetItem PyTuple_New
PyTuple_SetItem PyTuple_Size PyTuple_Type PyType_GetName PyType_IsSubtype PyUnicode_Compare PyUnicode_FromStringAndSize
PyUnicode_InternInPlace Py_DecRef Py_IncRef Py_Version _Py_FalseStruct _Py_NoneStruct _Py_TrueStruct
"""  # all of them in CPython's Misc/stable_abi.toml with `added` of at most 3.11


def test_the_docstring_runs(tmp_path: Path) -> None:
    if LINKER:
        runner = doctest.DocTestRunner()
        (test,) = doctest.DocTestFinder().find(build, globs={"build": build, "grad": grad, "folder": tmp_path})
        assert runner.run(test) == (0, 3)


# ---- what may be built


class Model:
    scale = 3.0

    @value_and_grad
    def loss(self, x):
        return np.sum(x * x) * self.scale


def test_methods_partials_and_star_arguments(tmp_path: Path) -> None:
    def total(*rows):
        return rows[0] + 2 * rows[1]

    functions = {"loss": Model().loss, "part": functools.partial(slope), "total": total}
    if made(tmp_path, functions, {"loss": (X,), "part": (1.0,), "total": (1.0, 2.0)}, name="kinds"):
        told = alone(
            tmp_path,
            """
import kinds, inspect
v, g = kinds.loss(array.array("d", [1, 4, 9]))
print(v, g.tolist(), kinds.part(2.0), kinds.total(1.0, 4.0), inspect.signature(kinds.total))
""",
        )
        assert told == f"294.0 [6.0, 24.0, 54.0] {float(slope(2.0))!r} 9.0 (rows_0, rows_1)\n"


def test_building_again_replaces_the_module(tmp_path: Path) -> None:
    if made(tmp_path, slope, (1.0,), name="again"):
        first = (tmp_path / "again.abi3.so").stat().st_ino
        made(tmp_path, jit(slope), (1,), name="again")
        assert (tmp_path / "again.abi3.so").stat().st_ino != first
        assert "x: an int" in alone(tmp_path, "import again; print(again.slope.__doc__)")


def test_builds_from_threads(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def work(k: int) -> None:
        try:
            made(tmp_path, {f"f{k}": jit(lambda x: x * k)}, {f"f{k}": (1.0,)}, name=f"t{k}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    if LINKER:
        assert alone(tmp_path, "import t1, t2; print(t1.f1(5.0), t2.f2(5.0))") == "5.0 10.0\n"


def test_the_reference_executor_builds_the_same(tmp_path: Path) -> None:
    with settings.override(reference=True):
        path = made(tmp_path, {"fit": value_and_grad(fit)}, {"fit": FIT}, name="plain")
    if path:
        told = alone(tmp_path, fit_text() + "import plain; print(repr(plain.fit(p, x, 2.0, 'scaled')[0]))")
        assert float(told) == float(FUNCTIONS["fit"](*FIT)[0])
