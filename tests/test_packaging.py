"""What is shipped: every package, the types, one lazy face; and how little importing it loads."""

import ast
import builtins
import math
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import pullback
from pullback.__main__ import main
from pullback.compiler.settings import SETTINGS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUP = PROJECT["tool"]["setuptools"]
FACE = ROOT / "runtime" / "pullback"
PAGES = "pullback.docs.errors"  # of text only
BUILTINS = sorted(set(dir(builtins)) & set(vars(pullback)["_WHERE"]))
HEAVY = ("sympy", "scipy", "sklearn", "torch", "jax", "asyncio", "importlib.metadata")


def python(*words: str, cwd: Path, executable: str | Path = sys.executable) -> str:
    """The output of a Python that reads no environment variable of its own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PULLBACK"))} | {"PULLBACK_CACHE": "0"}
    done = subprocess.run(
        [str(executable), *words], cwd=cwd, env=kept, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_package_list_is_the_tree() -> None:
    tree = set()
    for path in [*(ROOT / "compiler").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")]:
        assert (path.parent / "__init__.py").is_file(), f"{path.parent} has no __init__.py"
        inside = path.parent.relative_to(FACE if path.is_relative_to(FACE) else ROOT)
        tree.add(".".join(["pullback", *inside.parts]))
    assert sorted({*tree, PAGES}) == sorted(SETUP["packages"])


def test_dependencies_are_four() -> None:
    names = [re.split(r"\W", text)[0] for text in PROJECT["project"]["dependencies"]]
    assert names == ["numpy", "llvmlite", "sympy", "platformdirs"]


def test_the_face_holds_nothing_else() -> None:
    """Its submodules hand on the names of others: a docstring and imports. `jit` also takes its module's place."""
    files = {path.name for path in FACE.iterdir() if path.is_file()}
    # What others import from inside PyTorch.
    inner = {"_C.py", "_VF.py", "__config__.py", "_dynamo.py", "_utils.py", "_vmap_internals.py"}
    assert files == {"__init__.py", "__main__.py", "_where.py", "py.typed", *inner}
    for path in FACE.rglob("*.py"):
        if path.parent != FACE or path.name in inner:
            _, *rest = ast.parse(path.read_text(encoding="utf-8")).body
            if path.parent.name == "jit":
                assert ast.unparse(rest.pop()) == "modules[__name__] = jit"
            assert all(isinstance(node, ast.ImportFrom) for node in rest), path
    assert (FACE / "py.typed").read_bytes() == b""


def test_links_for_type_checkers_lead_to_the_tree() -> None:
    links = ROOT / "tests" / ".path" / "pullback"
    want = {path.name: path for path in FACE.iterdir() if path.name != "__pycache__"}
    want |= {"compiler": ROOT / "compiler", "runtime": ROOT / "runtime"}
    assert {path.name: path.resolve() for path in links.iterdir()} == want


def test_the_three_lists_of_names_agree() -> None:
    tree = ast.parse((FACE / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: str(node.module).removeprefix("pullback.")
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == vars(pullback)["_WHERE"]
    assert sorted(typed) == sorted([*pullback.__all__, *BUILTINS]) == sorted({*pullback.__all__, *BUILTINS})
    assert set(typed) <= set(dir(pullback))


def test_a_star_import_leaves_the_names_of_python_alone(tmp_path: Path) -> None:
    assert not set(pullback.__all__) & set(dir(builtins))
    text = "from pullback import *; import pullback; print(sum([1, 2]), grad(lambda x: x * x)(3.0), pullback.sum)"
    assert python("-c", text, cwd=tmp_path).startswith("3 6.0 <")


@pytest.mark.parametrize("name", [*pullback.__all__, *BUILTINS])
def test_every_public_name_is_there(name: str) -> None:
    value = getattr(pullback, name)
    assert value is getattr(pullback, name)
    assert not callable(value) or value.__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("name", ["autograd", "nn", "nn.functional", "nn.init", "optim"])
def test_submodules_are_modules(tmp_path: Path, name: str) -> None:
    """`import pullback.nn as nn` works, and so does `pullback.nn` without it."""
    text = f"import sys, pullback.{name} as m, pullback; print(m.__doc__ is not None, pullback.{name} is m)"
    assert python("-c", text, cwd=tmp_path) == "True True\n"
    assert python("-c", f"import pullback; print(pullback.{name}.__name__)", cwd=tmp_path).endswith(f"{name}\n")


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="'pullback' has no attribute 'nonsense'"):
        pullback.nonsense  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("folder", ["compiler", "runtime"])
def test_the_folders_cannot_be_imported_by_their_own_names(folder: str) -> None:
    text = f"try: import {folder}\nexcept ImportError as error: print(error)"
    said = python("-c", text, cwd=ROOT)
    assert said == f"import this package as pullback.{folder}, not as {folder}\n"


def test_importing_the_face_loads_nothing(tmp_path: Path) -> None:
    names = ("numpy", "llvmlite", "pullback.compiler", *HEAVY)
    text = f"import sys, pullback; print([n for n in {names!r} if n in sys.modules])"
    assert python("-c", text, cwd=tmp_path) == "[]\n"


def test_using_it_loads_nothing_heavy(tmp_path: Path) -> None:
    text = "import sys, pullback; f = pullback.grad(lambda x: x * x); assert f(3.0) == 6.0"
    text += f"; print([n for n in {HEAVY!r} if n in sys.modules])"
    assert python("-c", text, cwd=tmp_path) == "[]\n"


def _seconds(what: str, cwd: Path) -> float:
    """How long a statement takes in a new process, by its thread's clock: BLAS spins at its start."""
    return float(python("-c", f"from time import thread_time as t; a = t(); {what}; print(t() - a)", cwd=cwd))


def test_importing_it_is_quick(tmp_path: Path) -> None:
    assert min(_seconds("import pullback", tmp_path) for _ in range(8)) < 0.150


def test_the_first_use_of_grad_is_quick(tmp_path: Path) -> None:
    """0.3 s on a quiet machine, of which NumPy and LLVM take a good third, on other machines too."""
    best = [math.inf, math.inf]
    for _ in range(8):
        for k, what in enumerate(("import pullback; pullback.grad", "import numpy, llvmlite.binding")):
            best[k] = min(best[k], _seconds(what, tmp_path))
    assert best[0] < max(0.300, 4 * best[1]), best


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist and a wheel, both made of a copy of the checkout."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("compiler", "docs", "runtime", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    python("-m", "build", "--no-isolation", "--outdir", "dist", cwd=copy)
    return copy / "dist"


def test_wheel_and_sdist_hold_the_packages(shipped: Path) -> None:
    """The wheel is built from the sdist, so what one lacks the other lacks."""
    (wheel,), (sdist,) = shipped.glob("*.whl"), shipped.glob("*.tar.gz")
    assert wheel.name == f"pullback-{pullback.__version__}-py3-none-any.whl"
    want = {f"{name.replace('.', '/')}/__init__.py" for name in SETUP["packages"] if name != PAGES}
    want |= {f"{PAGES.replace('.', '/')}/trace-error.md", "pullback/py.typed", "pullback/__main__.py"}
    want.add("pullback/runtime/inspect/explorer.html")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert want <= names
    assert {name.split("/")[0] for name in names} == {
        "pullback",
        f"pullback-{pullback.__version__}.dist-info",
    }
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "compiler/settings.py"} <= files
    assert not any(name.startswith("tests") for name in files)


def test_the_wheel_works_without_the_checkout(shipped: Path, tmp_path: Path) -> None:
    """In an environment of its own that borrows dependencies from the one that runs the tests."""
    venv.create(tmp_path / "fresh", with_pip=False, symlinks=True)
    fresh = tmp_path / "fresh" / "bin" / "python"
    (wheel,) = shipped.glob("*.whl")
    install = ("install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    python("-m", "pip", "--python", str(fresh), *install, str(wheel), cwd=tmp_path)
    (packages,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    text = f"import {', '.join(SETUP['packages'])}; print(pullback.__file__)"
    where = python("-W", "error", "-c", text, cwd=tmp_path, executable=fresh)
    assert Path(where.strip()).is_relative_to(packages)
    text = "import pullback; print(pullback.grad(lambda x: x * x)(3.0))"
    assert python("-c", text, cwd=tmp_path, executable=fresh) == "6.0\n"
    for command in ([str(fresh), "-m", "pullback"], [str(fresh.with_name("pullback"))]):
        done = subprocess.run([*command, "env"], capture_output=True, text=True, timeout=60)
        assert done.stdout.split()[:2] == ["pullback", pullback.__version__], done.stderr
    page = python("-m", "pullback", "explain", "KernelError", cwd=tmp_path, executable=fresh)
    assert page.startswith("# KernelError")


def test_the_command_line_prints_the_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULLBACK_LEVEL", "0")
    monkeypatch.setenv("PULLBACK_DUMPS", "graph")
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert all(each.variable in out and each.meaning in out for each in SETTINGS)
    assert "default 'auto'; now '0'" in out
    assert "PULLBACK_DUMPS is set, and nothing reads it" in out


@pytest.fixture
def loss(tmp_path: Path) -> str:
    text = "import numpy as np\n\ndef loss(w, x):\n    return np.sum(np.tanh(w * x))\n"
    (tmp_path / "train.py").write_text(text)
    return f"{tmp_path / 'train.py'}:loss"


@pytest.mark.parametrize("arguments", [["x=f64", "w=f64[3]"], ["f64[3]", "f64"]])
def test_the_command_line_dumps(
    capsys: pytest.CaptureFixture[str], loss: str, arguments: list[str]
) -> None:
    options = [word for text in arguments for word in ("--arg", text)]
    assert main(["dump", loss, *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith("graph @loss(%w: f64[3], %x: f64[]) {") and "train.py:4" in out


@pytest.mark.parametrize("stage", ["graph", "adjoint", "optimized", "loops", "llvm", "asm"])
def test_the_command_line_dumps_every_stage(
    capsys: pytest.CaptureFixture[str], loss: str, stage: str
) -> None:
    assert main(["dump", loss, "--stage", stage, "--arg", "w=f64[2,2]", "--arg", "x=f64"]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dump", "train.py"], "expected FILE.py:FUNCTION, got 'train.py'"),
        (["dump", "{file}:lost"], "no function 'lost' in {file}; functions are loss"),
        (["dump", "{file}s:loss"], "expected a Python file, got '{file}s'"),
        (["dump", "no/where.py:loss"], "No such file"),
        (["dump", "{file}:loss", "--arg", "w=f64[3"], "expected NAME=f64[3], i64 or the like"),
        (["dump", "{file}:loss", "--arg", "w=f64[99999999999999999999]"], "expected at most 100000000 elements"),
        (["dump", "{file}:loss", "--arg", "w=f64"], "missing a required argument: 'x'"),
        (["dump", "{file}:loss", "--stage", "grpah"], "invalid choice: 'grpah'"),
        (["dmup"], "invalid choice: 'dmup'"),
    ],
)
def test_the_command_line_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], loss: str, words: list[str], said: str
) -> None:
    file = loss.rpartition(":")[0]
    with pytest.raises(SystemExit) as error:
        main([word.format(file=file) for word in words])
    assert error.value.code == 2
    assert said.format(file=file) in capsys.readouterr().err
