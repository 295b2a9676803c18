"""What can be seen between stages: dumps of each stage, the time it took, what is logged, and a line on the terminal.

`PULLBACK_DUMP` says what to print, `PULLBACK_DUMP_TO` where to keep it, `PULLBACK_TIME` whether to
print times, `PULLBACK_LOG` what to log. Nothing is made into text unless it is wanted.

    pullback: compiling loss: lowering, 3 s

    -- adjoint of loss --
    graph @loss_adjoint(%x: f64[], %c: f64[]) {
    ...
"""

import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter

from .settings import STAGES, TOPICS, settings

LOGGERS = {topic: logging.getLogger(f"pullback.{topic}") for topic in TOPICS}


def wants(stage: str) -> bool:
    """Whether `show` would do anything with this stage."""
    return _printed(stage) or _filed(stage)


def show(stage: str, text: Callable[[], str], of: str = "") -> None:
    """Print a stage of the function named `of`, or write it to a file, if settings ask for it."""
    printed, filed = _printed(stage), _filed(stage)
    if not (printed or filed):
        return
    made = text().rstrip("\n") + "\n"
    if printed:
        print(f"-- {_title(stage, of)} --\n{made}", file=sys.stderr, flush=True)
    if filed and settings.dump_to is not None:
        try:
            _write(settings.dump_to, stage, of, made)
        except OSError as error:
            told = f"PULLBACK_DUMP_TO is {str(settings.dump_to)!r}, where nothing can be written: {error.strerror}"
            raise type(error)(f"{told} (expected a folder, which is made if it is not there)") from None


Times = dict[str, float]
"""How many milliseconds each stage took, in the order in which they ran."""


class timed:
    """Measure the body of a `with`: add its milliseconds to `into`, and print them if the settings ask for it."""

    __slots__ = ("stage", "of", "into", "start")

    def __init__(self, stage: str, of: str = "", into: Times | None = None) -> None:
        self.stage, self.of, self.into = stage, of, into

    def __enter__(self) -> None:
        _at(self.stage)
        self.start = perf_counter()

    def __exit__(self, *error: object) -> None:
        spent = 1e3 * (perf_counter() - self.start)
        if self.into is not None:
            self.into[self.stage] = self.into.get(self.stage, 0.0) + spent
        log("stages", self.of, "%s took %.3f ms", self.stage, spent)
        if settings.time:
            print(f"-- {_title(self.stage, self.of)}: {spent:.3f} ms --", file=sys.stderr, flush=True)


def log(topic: str, of: str, said: str, *facts: object) -> None:
    """Log what has happened to the function `of`; a record has it as `function`, and it before the facts as `args`."""
    if topic in settings.log:
        print(f"pullback.{topic}: {of}: {said % facts}", file=sys.stderr, flush=True)
    logger = LOGGERS[topic]
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug(f"%s: {said}", of, *facts, extra={"function": of})


def _printed(stage: str) -> bool:
    if stage not in STAGES:
        raise ValueError(f"no stage {stage!r}: there are {', '.join(STAGES)}")
    return stage in settings.dump


def _filed(stage: str) -> bool:
    return settings.dump_to is not None and (stage in settings.dump or not settings.dump)


def _title(stage: str, of: str) -> str:
    return f"{stage} of {of}" if of else stage


def _write(folder: Path, stage: str, of: str, text: str) -> None:
    """Write the next numbered file; numbers that another process or run has taken are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.]+", "_", of)
    stem = f"{name}-{stage}" if name else stage
    for number in count(1 + len(list(folder.iterdir()))):
        try:
            with open(folder / f"{number:04d}-{stem}.txt", "x", encoding="utf-8") as file:
                file.write(text)
            return
        except FileExistsError:
            continue


# ---- progress

PATIENCE = 1.0
"""Seconds after which the line appears."""

PERIOD = 0.25
"""Seconds after which it is written again."""

_ERASE = "\r\x1b[K"
_MOST = 60
"""Letters of a function's name, so that the line stays one."""


class _Now:
    """What is being done, in the main thread."""

    stage = ""
    shown = False


def _at(stage: str) -> None:
    """Tell what is being done now."""
    if _Now.shown:
        _Now.stage = stage


@contextmanager
def progress(name: str) -> Iterator[None]:
    """Show which function is compiled, at which stage and for how long, for as long as the body of a `with` takes.

    The line appears after a second on a terminal, is rewritten in its place and taken away at the end. Elsewhere, and
    with `PULLBACK_PROGRESS=0`, nothing is written; nor is anything from threads beside the main one, which nobody
    waits for, or inside of another such `with`.
    """
    if _Now.shown or threading.current_thread() is not threading.main_thread() or not _wanted():
        yield
        return
    done = threading.Event()
    writer = threading.Thread(target=_write_line, args=(name[:_MOST], done), name="pullback progress", daemon=True)
    _Now.shown, _Now.stage = True, ""
    try:
        writer.start()
        yield
    finally:
        done.set()
        writer.join()
        _Now.shown = False


def _wanted() -> bool:
    return settings.progress and sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _write_line(name: str, done: threading.Event) -> None:
    began = perf_counter()
    if done.wait(PATIENCE):
        return
    try:
        while not done.wait(PERIOD):
            stage = f": {_Now.stage}" if _Now.stage else ""
            sys.stderr.write(f"{_ERASE}pullback: compiling {name}{stage}, {perf_counter() - began:.0f} s")
            sys.stderr.flush()
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # the terminal has gone
