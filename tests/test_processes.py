"""Functions in other processes: by a name where there is one, by value through cloudpickle where there is none."""

from __future__ import annotations

import copy
import linecache
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest

from pullback import grad, hessian, jit, value_and_grad
from tests import shipped

NAMELESS = shipped.nameless()
ALL = {**shipped.NAMED, **NAMELESS}


def run(args: list[str], folder: Path) -> list[str]:
    env = {**os.environ, "PULLBACK_CACHE": "1", "PULLBACK_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_script_sends_its_functions(tmp_path: Path) -> None:
    made = run([shipped.__file__, "fork", "spawn", "forkserver", "loky"], tmp_path)
    assert [line.split()[0] for line in made] == ["fork", "spawn", "forkserver", "loky"]


CELLS = """
import linecache, sys
text, name = open(sys.argv.pop(1)).read(), "<a cell>"
linecache.cache[name] = len(text), None, text.splitlines(True), name
exec(compile(text, name, "exec"), vars(sys.modules["__main__"]))
"""
"""What a notebook does with the text of a cell: no file has it."""


def test_a_notebook_sends_its_functions(tmp_path: Path) -> None:
    text = Path(shipped.__file__).read_text(encoding="utf-8")
    text = text.replace('"task": (task, (V,))', "").replace("@hessian", "@hessian  # a text of its own")
    (tmp_path / "cell").write_text(text, encoding="utf-8")
    made = run(["-c", CELLS, "cell", "program", "dask"], tmp_path)
    assert [line.split()[0] for line in made] == ["program", "dask"]


@pytest.mark.parametrize("kind", ALL)
def test_copies_are_the_function_itself(kind: str) -> None:
    function, args = ALL[kind]
    if isinstance(function, (types.MethodType, types.FunctionType)) or hasattr(function, "__wrapped__"):
        assert copy.copy(function) == function
    if not isinstance(function, types.MethodType) and hasattr(function, "__wrapped__"):
        assert copy.deepcopy({"f": [function]})["f"][0] is function
    assert shipped.text(copy.deepcopy(function), args) == shipped.text(function, args)


@pytest.mark.parametrize("kind", NAMELESS)
def test_pickle_refuses_what_has_no_name(kind: str) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"no name of the module .* leads|local object"):
        pickle.dumps(NAMELESS[kind][0])


@pytest.mark.parametrize("kind", shipped.NAMED)
@pytest.mark.parametrize("protocol", [2, 3, pickle.HIGHEST_PROTOCOL])
def test_pickle_takes_what_has_a_name(kind: str, protocol: int) -> None:
    function, args = shipped.NAMED[kind]
    stream = pickle.dumps(function, protocol)
    again = pickle.loads(stream)
    assert b"\x7fELF" not in stream and len(stream) < 1500 and type(again) is type(function)
    if again is not function and protocol == 2:
        assert shipped.text(again, args) == shipped.text(function, args)


def module_of(text: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of a file that no longer is there."""
    file = str(folder / f"{name}.py")
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(text, file, "exec"), vars(module))
    return module


LOOP = """
import numpy as np
from pullback import grad, jit

def root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x

@grad
def slope(a):
    return root(a) * OF

below = grad(lambda a: root(a) if a > 0 else a)

@jit
def ping(x, n):
    return x if n == 0 else pong(x, n - 1)

@jit
def pong(x, n):
    return ping(2.0 * x, n)

OF = 2.0
"""

THERE = """
import pickle, sys
slope, below = pickle.load(sys.stdin.buffer)
print(round(slope(4.0), 9), round(below(4.0), 9))
print("loop" in slope.ir(), "loop" in below.ir() or "cond" in below.ir(), "gone.py" in slope.ir())
"""


def test_loops_come_with_their_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = module_of(LOOP, "gone", tmp_path, monkeypatch)
    cloudpickle.register_pickle_by_value(gone)
    try:
        stream = cloudpickle.dumps((gone.slope, gone.below))
    finally:
        cloudpickle.unregister_pickle_by_value(gone)
    made = subprocess.run([sys.executable, "-c", THERE], input=stream, capture_output=True, timeout=100, check=True)
    assert made.stdout.decode().splitlines() == ["0.5 0.25", "True True True"], made.stdout


def test_functions_that_name_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = module_of(LOOP, "circle", tmp_path, monkeypatch)
    cloudpickle.register_pickle_by_value(gone)
    try:
        ping, pong = pickle.loads(cloudpickle.dumps((gone.ping, gone.pong)))
    finally:
        cloudpickle.unregister_pickle_by_value(gone)
    assert ping is not gone.ping and ping.__wrapped__.__globals__["pong"] is pong
    assert pong.__wrapped__.__globals__["ping"] is ping
    by_name = pickle.loads(cloudpickle.dumps((gone.ping, gone.pong)))
    assert by_name == (gone.ping, gone.pong)


def test_equal_code_of_two_files_keeps_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from pullback import grad\nf = grad(lambda x: x * x{} if x > 0.0 else x)\n"
    modules = [module_of(text.format(more), name, tmp_path, monkeypatch) for name, more in [("one", ""), ("two", "*x")]]
    for each in modules:
        cloudpickle.register_pickle_by_value(each)
    try:
        again = pickle.loads(cloudpickle.dumps([each.f for each in modules]))
    finally:
        for each in modules:
            cloudpickle.unregister_pickle_by_value(each)
    assert [f(2.0) for f in again] == [4.0, 12.0]


def test_what_was_set_goes_along() -> None:
    f = grad(lambda x: x * x)
    f.__name__, f.note = "square", {"made": "here"}  # type: ignore[attr-defined]
    again = pickle.loads(cloudpickle.dumps(f))
    assert (again.__name__, again.note, repr(again)) == ("square", {"made": "here"}, "<grad of square>")
    again(2.0)
    assert "report" not in vars(pickle.loads(cloudpickle.dumps(again))) and f(3.0) == again(3.0) == 6.0


def test_decorators_are_pickled() -> None:
    for again in (pickle.loads(pickle.dumps(value_and_grad(argnums=1))), copy.deepcopy(jit(static_argnums=0))):
        assert again(shipped.power.__wrapped__).__name__ == "power"


def test_names_that_are_bound_later() -> None:
    """A function with a name only where it is called is made anew from what has one; a method goes by its class."""
    curvature = hessian(shipped.loss)
    again = pickle.loads(pickle.dumps(curvature))
    assert again is not curvature and np.array_equal(again(shipped.V), curvature(shipped.V))
    method = pickle.loads(pickle.dumps(shipped.model.slope))
    assert method.__func__ is shipped.Model.slope and method.__self__ is not shipped.model


def test_they_have_hashes_that_stay() -> None:
    assert joblib.hash(shipped.slope) == joblib.hash(pickle.loads(pickle.dumps(shipped.slope)))
    assert joblib.hash(grad(shipped.loss)) == joblib.hash(grad(shipped.loss)) != joblib.hash(jit(shipped.loss))


def test_results_are_kept_by_joblib(tmp_path: Path) -> None:
    kept: Any = joblib.Memory(tmp_path, verbose=0).cache(shipped.slope)
    assert np.array_equal(kept(shipped.V), kept(shipped.V))
    assert kept.check_call_in_cache(shipped.V)
