"""Extension modules in several interpreters of one process: each has an instance with a state of its own."""

from __future__ import annotations

from tests.built import alone, kernels

LOOP = """
import importlib, threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def run(number, text):
    said = interpreters.{0}(number, text) if hasattr(interpreters, "{0}") else interpreters.run_string(number, text)
    assert said is None, said
HEAD = f"import sys, array\\nsys.path.append({{sys.path[-1]!r}})\\nimport kernels\\n"
"""
CALLS = """
from array import array
row = array("d", [1, 4, 9])
for _ in range(40):
    v, g = kernels.shifted(row)
    assert v == 17.0 and g.tolist() == [0.5, -1.5, 2.5], (v, g)
    made = kernels.many((1.0, 2.0), [array("i", [0, 1, 2])], memoryview(b"\\1\\0").cast("?"), n=4)
    assert list(made) == ["total", "flag", "n", "more"] and made["total"][1] == (4.5,)
try:
    kernels.shifted(row, row)
except TypeError as error:
    assert "shifted() takes the arguments (x)" in str(error), error
else:
    raise AssertionError
"""


def test_several_interpreters_at_once() -> None:
    """They come and go, in any order, while others call; and the strings of one that has gone are not asked for."""
    folder = kernels()
    if not folder:
        return
    alone(
        folder,
        LOOP.format("exec")
        + f"calls = {CALLS!r}\n"
        + """
import kernels
first = [interpreters.create() for _ in range(3)]
for each in first:
    run(each, HEAD + calls)
interpreters.destroy(first.pop(0))
exec(calls)
threads = [threading.Thread(target=run, args=(each, HEAD + calls)) for each in first]
for each in threads: each.start()
exec(calls)
for each in threads: each.join()
for each in first: interpreters.destroy(each)
last = interpreters.create()
run(last, HEAD + calls)
exec(calls)
""",
    )


def test_instances_share_nothing() -> None:
    """An instance made anew of the same file works beside the first, and after that has gone."""
    if folder := kernels():
        alone(
            folder,
            """
import gc, importlib.util
def load():
    spec = importlib.util.spec_from_file_location("kernels", sys.path[-1] + "/kernels.abi3.so")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
one, two = load(), load()
assert one is not two and one.fit is not two.fit
for each in range(200):
    load()
keep = two.many
del one, two
gc.collect()
made = keep((1.0, 2.0), [array.array("i", [0, 1, 2])], memoryview(b"\\1\\0").cast("?"), 4)
assert made["n"] == 5 and made["more"][1] is None
""",
        )
