"""What extension modules do with bad arguments, with arguments that change meanwhile, and with threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pullback.runtime.transforms import jit
from tests.built import alone, fit_text, kernels, made, pick

PLACE = f"(in built.py:{pick.__code__.co_firstlineno + 1})"
PAIR = "expected an array of float64, shape (2,)"
ROW = "expected an array of float64, shape (3,)"
KEYS = "expected a dict with the keys 'w', 'b'"
FIXED = "expected 'scaled': it was fixed when the module was built"

WRONG = {
    "slope()": "TypeError: slope() takes the arguments (x), and 'x' is not given",
    "slope(1.0, 2.0)": "TypeError: slope() takes the arguments (x), got 2",
    "slope(1.0, y=2.0)": "TypeError: slope() takes the arguments (x), and has none named 'y'",
    "slope(1.0, x=2.0)": "TypeError: slope() takes the arguments (x), and got 'x' twice",
    "slope('1')": "TypeError: slope: argument x is of type str, expected a float",
    "slope(10**400)": "OverflowError: slope: argument x is too large, expected a float",
    "slope(Raises())": "KeyError: 'mine'",
    "ints(1.0, q)": "TypeError: ints: argument n is of type float, expected an int of 64 bits",
    "ints(2**63, q)": "OverflowError: ints: argument n is too large, expected an int of 64 bits",
    "shifted([1.0, 2.0, 3.0])": f"TypeError: shifted: argument x is of type list, {ROW}",
    "shifted(array.array('f', [1, 2, 3]))": f"TypeError: shifted: argument x is a buffer of format 'f', {ROW}",
    "shifted(b'123')": f"TypeError: shifted: argument x is a buffer of format 'B', {ROW}",
    "shifted(array.array('d', [1, 2]))": f"ValueError: shifted: argument x has shape (2,), {ROW}",
    "shifted(x)": f"ValueError: shifted: argument x has shape (4, 3), {ROW}",
    "fit(1, x, 2.0, 'scaled')": f"TypeError: fit: argument p is of type int, {KEYS}",
    "fit({'w': w}, x, 2.0, 'scaled')": f"ValueError: fit: argument p has 1 keys, {KEYS}",
    "fit({'w': w, 'c': 1}, x, 2.0, 'scaled')": f"ValueError: fit: argument p has no key 'b', {KEYS}",
    "fit({'w': w, 'b': (1,)}, x, 2, '')": "TypeError: fit: argument p['b'] is of type tuple, expected a list of 1 item",
    "fit({'w': w, 'b': []}, x, 2, '')": "ValueError: fit: argument p['b'] has 0 items, expected a list of 1 item",
    "fit({'w': w, 'b': [None]}, x, 2, '')": f"TypeError: fit: argument p['b'][0] is of type NoneType, {PAIR}",
    "fit(p, x, 2.0, 'plain')": f"ValueError: fit: argument mode is 'plain', {FIXED}",
    "fit(p, x, 2.0, None)": f"ValueError: fit: argument mode is None, {FIXED}",
    "pick(array.array('d', [1, 2, 3]), 7)": f"IndexError: index 7 is out of bounds for axis 0 with size 3 {PLACE}",
}
PREPARED = """
from kernels import *
class Raises:
    def __float__(self): raise KeyError("mine")
q = memoryview(array.array("q", [1] * 4)).cast("B").cast("q", (2, 2))
"""


def test_bad_arguments() -> None:
    folder = kernels()
    if not folder:
        return
    told = alone(
        folder,
        fit_text()
        + PREPARED
        + f"""
for text in {list(WRONG)!r}:
    print(raised(lambda: eval(text)))
""",
    ).splitlines()
    assert told == list(WRONG.values())


def test_bad_arrays_of_numpy() -> None:
    if folder := kernels():
        told = alone(
            folder,
            """
import kernels, numpy as np
kernels.shifted(np.ones(3))
bad_types = [np.ones(3, kind) for kind in (">f8", "f4", object, "i8")]
for bad in (*bad_types, np.ones(4), np.ones((3, 1)), np.float64(1.0)):
    print(raised(lambda: kernels.shifted(bad)))
""",
            numpy=True,
        ).splitlines()
        formats = [f"TypeError: shifted: argument x is a buffer of format '{f}', {ROW}" for f in (">d", "f", "O", "l")]
        shapes = [f"ValueError: shifted: argument x has shape {shape}, {ROW}" for shape in ("(4,)", "(3, 1)", "()")]
        assert told == [*formats, *shapes]


def test_arguments_that_change_while_they_are_read() -> None:
    """Python code that runs inside a call may empty the containers it came in."""
    if folder := kernels():
        alone(
            folder,
            fit_text()
            + """
import kernels
class Empties:
    def __float__(self):
        p.clear(); inner.clear(); kept.clear()
        return 2.0
for _ in range(200):
    kept = [array.array("d", [0.25, -0.5])]
    inner = [kept[0]]
    p = {"b": inner, "w": memoryview(array.array("d", [1.0] * 6)).cast("B").cast("d", (3, 2))}
    value, slopes = kernels.fit(p, x, Empties(), "scaled")
    assert not p and value > 0
class Index:
    def __index__(self):
        rows.clear()
        return 1
rows = {}
print(kernels.pick(array.array("d", [1, 2, 3]), Index()))
""",
        )


def test_nothing_is_lost_or_kept() -> None:
    """Blocks of memory and references to what is passed, over good calls and calls that fail at every place."""
    if folder := kernels():
        alone(
            folder,
            fit_text()
            + f"""
import gc
class Raises:
    def __float__(self): raise KeyError("mine")
q = memoryview(array.array("q", [1] * 4)).cast("B").cast("q", (2, 2))
texts = {list(WRONG)!r} + ["fit(p, x, 2.0, 'scaled')", "fit(mode='scaled', p=p, k=1, x=x)",
    "many((1.0, 2.0), [array.array('i', [0, 1, 2])], memoryview(b'12').cast('?'), 4)", "slope(2.0)",
    "shifted(memoryview(array.array('d', range(6)))[::2])"]
codes = [compile(text, "", "eval") for text in texts]
held = [None, w, x, q, p, p["b"], p["b"][0]]
def round(times):
    for code in codes:
        for _ in range(times):
            try: eval(code)
            except Exception: pass
    gc.collect()
    return sys.getallocatedblocks(), [sys.getrefcount(each) for each in held[1:]]
round(1000)  # fills what the interpreter keeps for reuse
blocks, counts = round(10)
more, after = round(1000)
assert counts == after, (counts, after)
assert abs(more - blocks) < 200, more - blocks
assert p["b"][0].append(1.0) is None  # no buffer is still held
""",
        )


def test_calls_from_threads() -> None:
    """The kernel keeps its temporaries between calls, and threads must not meet in them."""
    if folder := kernels():
        alone(
            folder,
            """
import kernels, threading
xs = [array.array("d", [k + i / 3000 for i in range(3000)]) for k in range(4)]
want = [(v, g.tolist()) for v, g in map(kernels.wide, xs)]
wrong = []
def work(k):
    for _ in range(300):
        v, g = kernels.wide(xs[k])
        if (v, g.tolist()) != want[k]: wrong.append(k)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not wrong
""",
        )


def test_long_calls_let_other_threads_run(tmp_path: Path) -> None:
    if made(
        tmp_path, {"long": jit(lambda x: np.sum(np.exp(np.sin(x))))}, {"long": (np.zeros(8_000_000),)}, name="slow"
    ):
        alone(
            tmp_path,
            """
import slow, threading
x = array.array("d", bytes(8 * 8_000_000))
ticks, stop = [0], []
def tick():
    while not stop:
        ticks[0] += 1
        threading.Event().wait(0.001)
thread = threading.Thread(target=tick); thread.start()
sys.setswitchinterval(1000)
before = ticks[0]
for _ in range(20): slow.long(x)
during = ticks[0] - before
stop.append(1); thread.join()
assert during >= 3, during
""",
        )
