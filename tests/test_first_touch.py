"""Threads that first touch the names of the package together, in processes that have loaded nothing yet.

Who wins a race is a matter of luck, so what keeps them apart is looked at too: which module is loaded by whom.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import random, sys, threading
sys.setswitchinterval(1e-6)
import pullback

names = NAMES or list(pullback.__all__)
barrier, errors = threading.Barrier(8), []

def touch(k):
    draw = random.Random(SEED + k)
    mine = draw.sample(names, len(names))
    barrier.wait()
    for name in mine:
        try:
            TOUCH
        except BaseException as error:
            errors.append((name, repr(error)))

threads = [threading.Thread(target=touch, args=(k,), daemon=True) for k in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
print(errors, sum(thread.is_alive() for thread in threads))
"""

MODULES = ["nn", "optim", "distributions", "utils", "autograd", "func", "linalg", "fft", "special", "signal", "amp"]


def run(seed: int, names: list[str], touch: str) -> str:
    program = PROGRAM.replace("NAMES", repr(names)).replace("SEED", str(100 * seed)).replace("TOUCH", touch)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


@pytest.mark.parametrize("names", [["nn", "optim"], MODULES, []], ids=["two", "modules", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_names_are_touched_by_many_threads(seed: int, names: list[str]) -> None:
    assert run(seed, names, "getattr(pullback, name)") == "[] 0\n"


@pytest.mark.parametrize("seed", range(2))
def test_modules_are_imported_by_many_threads(seed: int) -> None:
    assert run(seed, MODULES, "__import__('pullback.' + name)") == "[] 0\n"


FACE = Path(__file__).parent.parent / "runtime" / "pullback"
PACKAGES = sorted(path.parent.name for path in FACE.glob("[a-z]*/__init__.py"))  # the others are inside PyTorch's

LOADED = """
import os, sys, traceback, pullback

def inner():
    return {m for m in sys.modules if m.startswith(("pullback.runtime", "pullback.compiler"))}

for name, parts in NAMES:
    if os.fork():
        os.wait()
        continue
    try:
        getattr(pullback, parts)
        before = inner()
        __import__(f"pullback.{name}")
        print(name, *sorted(inner() - before), flush=True)
    except BaseException:
        traceback.print_exc()
    os._exit(0)
"""
"""Each in a process of its own, that has imported the package and nothing of it."""


def parts_of(package: str) -> str:
    return "_of_utils" if package == "utils" else f"_{package}"  # torch._utils is a module


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What each module of the face loads besides its parts."""
    program = LOADED.replace("NAMES", repr([(package, parts_of(package)) for package in PACKAGES]))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert not done.stderr, done.stderr
    return {name: modules for name, *modules in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_of_the_face_loads_nothing_besides_its_parts(package: str, loaded: dict[str, list[str]]) -> None:
    """Its parts are loaded under the lock, before it; the rest would be loaded without."""
    assert loaded[package] == []
    first = next(line for line in (FACE / package / "__init__.py").read_text().splitlines() if "import" in line)
    assert first == f"from pullback import {parts_of(package)} as _loaded  # noqa: F401"


@pytest.mark.parametrize("collects", [True, False])
def test_loading_leaves_the_collector_as_it_was(collects: bool) -> None:
    """Nothing is collected while parts of the package are loaded; afterwards it is as the program had it."""
    code = f"""
import gc
gc.{"enable" if collects else "disable"}()
import pullback
found = []
gc.callbacks.append(lambda phase, info: found.append(info["generation"]))
pullback.grad, pullback.nn
assert gc.isenabled() is {collects}, "the collector"
assert found.count(2) == 0, found
try:
    pullback.compiled_by_nobody
except AttributeError:
    pass
assert gc.isenabled() is {collects}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("frozen", [True, False])
def test_what_is_loaded_is_old_at_once(frozen: bool) -> None:
    """The next collection of young objects looks at nothing of it; what the program has frozen stays frozen."""
    code = f"""
import gc
{"gc.freeze()" if frozen else ""}
before = gc.get_freeze_count()
import pullback
pullback.grad
assert bool(before) == {frozen} and 0.9 * before <= gc.get_freeze_count() <= before
young = len(gc.get_objects(0)) + len(gc.get_objects(1))
assert {frozen} or young < 5000, young
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr

BOUND = r"""
import re, sys, types
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
import pullback
pullback.grad
from pullback.compiler.frontend.patched.made import lengths
from pullback.compiler.frontend.patched.patches import patched, unpatched
from pullback.compiler.frontend.patched.unasked import unasked
from pullback.compiler.frontend.state.impure import replaced
before, seen = set(sys.modules), set()
root = Path(pullback.__file__).resolve().parent.parent.parent

def look(value, path):
    if unpatched(value) is not value:
        print(path, unpatched(value))
    if id(value) in seen or isinstance(value, types.ModuleType):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        inner = [*value.items()]
        for key in value:
            look(key, f"{path}, a key")
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = enumerate(value)
    elif isinstance(value, type) and value.__module__.startswith("pullback"):
        inner = vars(value).items()
    elif isinstance(value, types.FunctionType) and value.__module__ and value.__module__.startswith("pullback"):
        inner = enumerate([*(value.__defaults__ or ()), *(c.cell_contents for c in value.__closure__ or ())])
    else:
        return
    for key, each in inner:
        look(each, f"{path}.{key}")

with ExitStack() as stack:
    for each in (patched, lengths, unasked, replaced):
        stack.enter_context(each())
    assert unpatched(print) is not print
    for file in [*root.glob("compiler/**/*.py"), *root.glob("runtime/**/*.py")]:
        package = ".".join(["pullback", *file.relative_to(root).parts[:-1]])
        for found in re.finditer(r'later\(__\w+__, "([.\w]+)"\)', file.read_text(encoding="utf-8")):
            if file.name != "later.py":
                import_module(found[1], package)

found = [name for name in sys.modules if name not in before and name.startswith("pullback")]
for name in found:
    for key, value in vars(sys.modules[name]).items():
        if not key.startswith("__"):
            look(value, f"{name}.{key}")
print(len(found) > 80)
"""


def test_what_is_loaded_later_knows_nothing_that_traces_replace() -> None:
    """It may be loaded amid a trace: by its own name it would keep what stands for `print` until that ends."""
    done = subprocess.run([sys.executable, "-c", BOUND], capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_amid_a_load_can_load(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.5)\nwhole = True\n")
    code = """
import os, sys, threading, time
from pullback.compiler.later import load
threading.Thread(target=load, args=("slow",)).start()
while "slow" not in sys.modules:
    time.sleep(0.01)
child = os.fork()
if not child:
    os._exit(0 if load("slow").whole and load("pullback.compiler.ir.graph") else 1)
print(os.waitpid(child, 0)[1])
"""
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout == "0\n", done.stderr


IMPORTED = """
import sys
sys.path += [r"{folder}", "no-such-place"]
import sympy
from pullback import grad, jit, lambdify
x = sympy.Symbol("x")
assert abs(lambdify(x, sympy.LambertW(x))(1.0) - 0.5671432904097838) < 1e-15

def shifted(x):
    import settings_of_mine
    return x * settings_of_mine.RATE

print(grad(shifted)(2.0), jit(shifted)(2.0))
"""


def test_what_a_module_reads_when_it_is_imported_passes(tmp_path: Path) -> None:
    """SciPy is loaded when a formula first needs it, and looks at all that Python's path names."""
    tmp_path.joinpath("rate.txt").write_text("3.0")
    code = f"import time\nBEGAN = time.time()\nRATE = float(open(r'{tmp_path / 'rate.txt'}').read())\n"
    tmp_path.joinpath("settings_of_mine.py").write_text(code)
    program = IMPORTED.format(folder=tmp_path)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["3.0", "6.0"], done.stderr
