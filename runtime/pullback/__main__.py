"""The command line: env, settings, cache, pages of errors, dump, explore and build of a function, run of a graph.

    $ pullback dump train.py:loss --args 'f64[3], x=f64' --stage adjoint > graph.txt
    $ pullback run graph.txt --args 'f64[3], f64, f64'
    $ pullback torch train.py --epochs 3       runs a program of PyTorch's, whose `import torch` finds pullback
"""

import argparse
import functools
import inspect
import math
import os
import platform
import re
import runpy
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np

import pullback
from pullback.compiler.backend import processor
from pullback.compiler.backend.disk import store
from pullback.compiler.settings import SETTINGS, unknown
from pullback.runtime.inspect.pages import page_of
from pullback.runtime.inspect.stages import ALL
from pullback.runtime.inspect.text import Text, wants_colour

DTYPES = {"bool": np.bool_, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
SCALARS = {"bool": True, "i64": 1, "f64": 0.5}
MAX_EXAMPLE = 10**8
KINDS = {"value": "jit", "grad": "grad", "value_and_grad": "value_and_grad", "hvp": "hvp"}
SPEC = re.compile(r"(?:(\w+)=)?(bool|[if](?:32|64))(?:\[([\w, ]*)\])?")
LATEST = 20
"""How many files of the cache are shown."""

VECTOR = "vector[0]"  # the last argument of an hvp
ANY_SIZE = 3  # of an example's dimension that has a name


class Argument(NamedTuple):
    """An argument that a spec describes: its name, if it has one, an example, and its shape with names."""

    name: str | None
    example: object
    shape: tuple[int | str, ...] = ()


def main(words: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = list(sys.argv[1:] if words is None else words)
    if given[:1] == ["torch"] and given[1:] and given[1] not in ("-h", "--help"):
        _torch(given[1:])  # all words are the program's, and so is what it raises
        return 0
    options = parser.parse_args(given)
    try:
        made = options.run(options)
        print(made.coloured() if isinstance(made, Text) and wants_colour(sys.stdout) else str(made))
    except BrokenPipeError:
        return 1
    except (OSError, TypeError, ValueError, NotImplementedError) as error:
        parser.exit(2, f"pullback {options.command}: {error}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pullback", description="See into the compiler.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    env = commands.add_parser("env", help="print versions, processor and tools, for a report")
    env.set_defaults(run=_env)
    settings = commands.add_parser("settings", help="print every environment variable")
    settings.set_defaults(run=_settings)
    kept = commands.add_parser("cache", help="show, verify or clear the code that is kept on disk")
    kept.add_argument("what", nargs="?", choices=("show", "verify", "clear"), default="show")
    kept.add_argument("--all", action="store_true", help=f"show every file, and not only the latest {LATEST}")
    kept.set_defaults(run=_cache)
    explain = commands.add_parser("explain", help="print what causes an error, and the cure")
    explain.add_argument("error", nargs="?", default="", metavar="CLASS", help="such as TraceError; by default all")
    explain.set_defaults(run=_explain)
    dump = commands.add_parser("dump", help="print one stage of a function")
    dump.add_argument("target", metavar="FILE.py:FUNCTION")
    dump.add_argument("--stage", choices=ALL, default="graph")
    dump.add_argument("--source", action="store_true", help="with the lines of Python that it comes from")
    _add_arguments(dump)
    dump.set_defaults(run=_dump)
    run = commands.add_parser("run", help="compile a graph that was printed, and run it on numbers of its own")
    run.add_argument("target", metavar="GRAPH.txt")
    run.add_argument("--grad", action="store_true", help="its gradient for all arguments of floats")
    _add_arguments(run)
    run.set_defaults(run=_run)
    build = commands.add_parser("build", help="write a function and derivatives of it as a module, and print its path")
    build.add_argument("target", metavar="FILE.py:FUNCTION")
    build.add_argument("--with", dest="wanted", default="value,grad", metavar="KIND,...",
                       help=f"what the module has of it, by its first argument: {', '.join(KINDS)} (value,grad)")
    build.add_argument("-o", dest="out", required=True, metavar="FOLDER/NAME", help="the module's name, and its place")
    build.add_argument("--cpu", default="native", metavar="LEVEL,...",
                       help="which processors may run it: native or some of baseline, avx2, avx512 (native)")
    build.add_argument("--target", dest="machine", default="", metavar="MACHINE",
                       help="C functions for another kind of machine, such as aarch64-linux, wasm32 or thumbv7em-none")
    _add_arguments(build)
    build.set_defaults(run=_build)
    explore = commands.add_parser("explore", help="write a page with all stages of a function, and print its path")
    explore.add_argument("target", metavar="FILE.py:FUNCTION")
    explore.add_argument("--to", metavar="PAGE.html", help="by default a file in a new folder for temporary ones")
    _add_arguments(explore)
    explore.set_defaults(run=_explore)
    torch = commands.add_parser("torch", help="run a program, and let its `import torch` find pullback")
    torch.add_argument("program", nargs="+", metavar="FILE.py | -m MODULE", help="and its arguments")
    return parser


def _explore(options: argparse.Namespace) -> str:
    function = _load(options.target)
    compiled = function if hasattr(function, "ir") else pullback.jit(function)
    return str(compiled.explore(options.to, *_in_order(function, options.arguments)))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    said = "f64, f32, i64, i32 or bool, with its shape if an array (w=f64[5,3])"
    parser.add_argument(
        "--arg", action="append", default=[], type=_argument, dest="arguments", metavar="[NAME=]SPEC",
        help=f"an argument: {said}",
    )
    parser.add_argument(
        "--args", action="extend", default=[], type=_argument_list, dest="arguments", metavar="SPEC,...",
        help="several of them: 'f64[25], x=f64[3,25]'",
    )


def _torch(words: list[str]) -> None:
    """Run a file or, after -m, a module as `python` would."""
    pullback.as_torch()
    by_name = words[0] == "-m" and len(words) > 1
    sys.argv = words[by_name:]
    if by_name:
        words = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        _begin_tracebacks(words[0])
        runpy.run_path(words[0], run_name="__main__")


def _begin_tracebacks(program: str) -> None:
    """Let the traceback of an error that ends a program begin where the program does."""
    shown = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        inner = at
        while inner is not None and inner.tb_frame.f_code.co_filename != program:
            inner = inner.tb_next
        shown(kind, error if inner is None else error.with_traceback(inner), inner or at)

    sys.excepthook = show


def _env(_: argparse.Namespace) -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
    rows = {
        "pullback": pullback.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": platform.platform(),
        "numpy": f"{np.__version__} ({blas['name']} {blas['version']})",
        "llvmlite": f"{_version('llvmlite')} (LLVM {processor.llvm_version()})",
        **{name: _version(name) for name in ("sympy", "scipy", "torch", "jax")},
        "processor": f"{processor.cpu_name()}, {os.cpu_count()} threads",
        "features": " ".join(sorted(processor.cpu_features())),
        "cc": shutil.which("cc") or "none",
        **{each.variable: each.text for each in SETTINGS if each.text != each.default},
    }
    width = max(map(len, rows))
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows.items())


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "none"


def _settings(_: argparse.Namespace) -> str:
    lines = []
    for each in SETTINGS:
        now = "" if each.text == each.default else f"; now {each.text!r}"
        values = f"{each.allowed}; default {each.default!r}{now}"
        lines += [each.variable, f"    {each.meaning}", f"    {values}"]
    lines += [f"{name} is set, and nothing reads it" for name in unknown()]
    return "\n".join(lines)


def _cache(options: argparse.Namespace) -> str:
    """What is kept on disk, and what has become of it."""
    where = store.folder()
    if options.what == "verify":
        whole, wrong = store.verify()
        return f"{whole} files are whole, {wrong} are not{' and have been taken away' * (wrong > 0)}"
    if options.what == "clear":
        return f"{store.clear():,} bytes taken away from {where}"
    files = store.contents()
    shown, total = files if options.all else files[:LATEST], sum(size for _, size, _ in files)
    rows = [f"{size:12,}  {datetime.fromtimestamp(used):%Y-%m-%d %H:%M:%S}  {path.stem}" for path, size, used in shown]
    if len(shown) < len(files):
        rows.append(f"and {len(files) - len(shown):,} that were used before: --all shows them")
    return "\n".join([f"{where}: {len(files)} files, {total:,} of {store.LIMIT:,} bytes", *rows])


def _explain(options: argparse.Namespace) -> str:
    return page_of(options.error)


def _dump(options: argparse.Namespace) -> str:
    function = _load(options.target)
    compiled = function if hasattr(function, "ir") else pullback.jit(function)
    text = compiled.ir(options.stage, *_in_order(function, options.arguments))
    return text.beside() if options.source else text


def _build(options: argparse.Namespace) -> str:
    """Where the module is that has been written."""
    function = _load(options.target)
    given = _bound(function, options.arguments)
    args = tuple([each.example for each in given])
    name, made, examples = re.split("[:.]", options.target)[-1], {}, {}
    names = list(inspect.signature(function).parameters)[: len(args)]
    sizes = {path: each.shape for path, each in zip(names, given, strict=False) if each.shape}
    if given and given[0].shape and "hvp" in options.wanted.split(","):
        sizes[VECTOR] = given[0].shape
    for kind in options.wanted.split(","):
        if kind not in KINDS:
            raise ValueError(f"--with has {kind!r}, expected some of {', '.join(KINDS)}")
        if kind in ("grad", "value_and_grad", "hvp") and not args:
            raise ValueError(f"--with {kind} takes a function with arguments: say what they are with --args")
        title = name if kind == "value" else f"{name}_{kind}"
        made[title] = getattr(pullback, KINDS[kind])(function)
        examples[title] = (*args, args[0]) if kind == "hvp" else args
    out = Path(options.out)
    if options.out.endswith("/"):
        raise ValueError(f"-o is the folder {options.out!r}, expected FOLDER/NAME with the name of the module")
    return str(pullback.build(made, examples, name=out.name, out=out.parent, cpu=options.cpu,
                              target=options.machine, sizes=sizes))


def _run(options: argparse.Namespace) -> str:
    """The results of a graph, one below the other, and the types that they have."""
    function = pullback.parse(Path(options.target).read_text(encoding="utf-8"))
    given = _in_order(function, options.arguments) if options.arguments else function.__wrapped__.examples()
    if options.grad:
        floats = [k for k, x in enumerate(given) if np.asarray(x).dtype.kind == "f"]
        function = pullback.grad(function, tuple(floats))
    made = function(*given)
    return "\n".join(
        f"{np.asarray(each).dtype}{list(np.shape(each))}\n{np.asarray(each)}"
        for each in (made if isinstance(made, tuple) else (made,))
    )


def _load(target: str) -> Callable[..., object]:
    """The function that `FILE.py:FUNCTION` names. The file is run, though not as `__main__`."""
    file, colon, name = target.rpartition(":")
    if not colon:
        raise ValueError(f"expected FILE.py:FUNCTION, got {target!r}")
    path = Path(file).resolve()
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"expected a Python file, got {file!r}")
    module = sys.modules[path.stem] = module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    found = functools.reduce(lambda owner, part: getattr(owner, part, None), name.split("."), module)
    if not callable(found):
        own = [(each, value) for each, value in vars(module).items() if not inspect.isclass(value) and callable(value)]
        have = [each for each, value in own if getattr(value, "__module__", None) == module.__name__]
        came = f"{name!r} in {file} is of class {type(found).__name__}"
        what = f"no function {name!r} in {file}" if found is None else came
        raise ValueError(f"{what}; functions are {', '.join(have) or 'none'}")
    return found


def _argument(text: str) -> Argument:
    """A name, if there is one, and an example of what the spec describes."""
    match = SPEC.fullmatch(text.strip())
    if match is None:
        fix = "containers, static and complex arguments are pullback.build's and ir's, in Python"
        raise argparse.ArgumentTypeError(f"expected NAME=f64[3], i64 or the like, got {text.strip()!r}; {fix}")
    name, dtype, shape = match.groups()
    if shape is None:
        return Argument(name, SCALARS.get(dtype, DTYPES[dtype](1)))
    dims = [size.strip() for size in shape.split(",") if size.strip()]
    if not all(size.isdecimal() or size.isidentifier() for size in dims):
        raise argparse.ArgumentTypeError(f"expected numbers or names as sizes, got {text!r}")
    known = tuple([int(size) if size.isdecimal() else size for size in dims])
    sizes = tuple([ANY_SIZE if isinstance(size, str) else size for size in known])
    count = math.prod(sizes)
    if count > MAX_EXAMPLE:
        raise argparse.ArgumentTypeError(f"expected at most {MAX_EXAMPLE} elements, got {text!r}")
    if dtype.startswith("f"):
        values = (np.arange(count) + 1) / (count + 1)
    else:
        values = np.arange(count) % 2
    return Argument(name, values.astype(DTYPES[dtype]).reshape(sizes), known)


def _argument_list(text: str) -> list[Argument]:
    """Several arguments, with commas between them that stand in no brackets."""
    return [_argument(each) for each in re.split(r",(?![^\[]*\])", text) if each.strip()]


def _in_order(function: Callable[..., object], arguments: Sequence[Argument]) -> list[object]:
    """The examples in the order of the function's parameters."""
    if any(isinstance(size, str) for each in arguments for size in each.shape):
        raise TypeError("expected numbers for all sizes, as f64[3,25]: what is printed here is for given sizes; "
                        "`build` takes names")
    return [each.example for each in _bound(function, arguments)]


def _bound(function: Callable[..., object], arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments in the order of the function's parameters."""
    free = [each for each in arguments if each.name is None]
    named = {each.name: each for each in arguments if each.name is not None}
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*free, **named)
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        raise TypeError(f"{name}{signature} was given {len(arguments)} specs: {error}; write --args \"f64[3], x=f64\", "
                        "one for each argument") from None
    if bound.kwargs:
        raise TypeError(f"can't pass keyword-only arguments: {', '.join(bound.kwargs)}")
    return list(bound.args)


if __name__ == "__main__":
    sys.exit(main())
