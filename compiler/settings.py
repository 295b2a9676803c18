"""Every environment variable: its name, default, type and meaning. The only reader of `os.environ`.

    >>> settings.vector_bits
    0
    >>> with settings.override(dump="graph,adjoint", level=0):
    ...     sorted(settings.dump), settings.level
    (['adjoint', 'graph'], 0)

A variable is read when its attribute is, so a bad value is an error of the line that asks, never
of an import.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Generic, Self, TypeVar, overload

T = TypeVar("T")

STAGES = ("graph", "adjoint", "optimized", "loops", "llvm", "asm")
"""What can be printed of a function, in the order in which it is made."""

TOPICS = ("forms", "cache", "stages")
"""What can be logged: why a function was compiled, whether its code was on disk, and how long each stage took."""

_overrides: ContextVar[Mapping[str, str]] = ContextVar("overrides", default=MappingProxyType({}))


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One variable. As an attribute of `Settings` it gives the value that holds now."""

    variable: str
    default: str
    read: Callable[[str], T]
    allowed: str
    meaning: str

    @property
    def name(self) -> str:
        return self.variable.removeprefix("PULLBACK_").lower()

    @property
    def text(self) -> str:
        """The value as text: an override's, else the environment's, else the default."""
        override = _overrides.get().get(self.variable)
        return os.environ.get(self.variable, self.default) if override is None else override

    def value(self, text: str) -> T:
        try:
            return self.read(text.strip())
        except ValueError:
            raise ValueError(
                f"{self.variable} is {text!r}; expected {self.allowed}"
                f" (unset it for the default, {self.default!r})"
            ) from None

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is not None and not _checked:
            _refuse_unknown()
        return self if instance is None else self.value(self.text)

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(
            f"settings are not assigned: use `with settings.override({self.name}={value!r})`"
            f" or the environment variable {self.variable}"
        )


def _subset_of(*words: str) -> Callable[[str], frozenset[str]]:
    def read(text: str) -> frozenset[str]:
        found = frozenset(word for part in text.split(",") if (word := part.strip()))
        if not found <= set(words):
            raise ValueError
        return found

    return read


def _one_of(*numbers: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if int(text) not in numbers:
            raise ValueError
        return int(text)

    return read


def _traceback(text: str) -> bool:
    if text not in ("short", "full", ""):
        raise ValueError
    return text == "full"


def _level(text: str) -> int | None:
    return None if text in ("auto", "") else _one_of(0, 1, 2, 3)(text)


def _count(text: str) -> int:
    if int(text) < 0:
        raise ValueError
    return int(text)


def _first_count(text: str) -> int:
    """The first of a list, one number for each level of nesting; 0 if it is none."""
    first = text.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


def _switch(text: str) -> bool:
    return bool(_one_of(0, 1)(text or "0"))


def _folder(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


class Settings:
    """The settings that hold now, as typed attributes."""

    dump = Setting(
        "PULLBACK_DUMP", "", _subset_of(*STAGES), f"a comma list of {', '.join(STAGES)}",
        "stages to print to standard error as they are made",
    )
    dump_to = Setting(
        "PULLBACK_DUMP_TO", "", _folder, "the name of a folder",
        "folder for numbered files of those stages, or of every stage if PULLBACK_DUMP is empty",
    )
    check = Setting(
        "PULLBACK_CHECK", "", _subset_of("passes"), "nothing or passes",
        "verify after every pass and compare with the reference executor",
    )
    reference = Setting(
        "PULLBACK_REFERENCE", "0", _switch, "0 or 1",
        "run the NumPy reference executor instead of native code",
    )
    time = Setting(
        "PULLBACK_TIME", "0", _switch, "0 or 1",
        "print the time of every stage to standard error",
    )
    progress = Setting(
        "PULLBACK_PROGRESS", "1", _switch, "0 or 1",
        "show on a terminal what is being compiled when that takes longer than a second",
    )
    log = Setting(
        "PULLBACK_LOG", "", _subset_of(*TOPICS), f"a comma list of {', '.join(TOPICS)}",
        "what to log to standard error: the loggers pullback.forms and so on of `logging` have it on DEBUG, too",
    )
    traceback = Setting(
        "PULLBACK_TRACEBACK", "short", _traceback, "short or full",
        "whether frames of pullback's own are in the tracebacks of errors: not in short ones",
    )
    vector_bits = Setting(
        "PULLBACK_VECTOR_BITS", "0", _one_of(0, 128, 256, 512), "0, 128, 256 or 512",
        "width of the vectors in generated code; 0 is what this processor does best",
    )
    level = Setting(
        "PULLBACK_LEVEL", "auto", _level, "auto, 0, 1, 2 or 3",
        "code generation level of LLVM; auto is 0 at once, and 2 in the background for what is called often",
    )
    cache = Setting(
        "PULLBACK_CACHE", "1", _switch, "0 or 1",
        "keep compiled code on disk for later processes",
    )
    cache_dir = Setting(
        "PULLBACK_CACHE_DIR", "", _folder, "the name of a folder",
        "folder for compiled code; if empty, the one the system has for caches",
    )
    num_threads = Setting(
        "PULLBACK_NUM_THREADS", "0", _count, "0, 1, 2, ...",
        "how many threads a call may run on; 0 is OMP_NUM_THREADS, or all processors of this process",
    )
    max_steps = Setting(
        "PULLBACK_MAX_STEPS", "0", _count, "0, 1, 2, ...",
        "the most passes of a loop whose end depends on values, after which it raises RuntimeError; 0 is no limit",
    )
    background = Setting(
        "PULLBACK_BACKGROUND", "1", _switch, "0 or 1",
        "compile repeated traces of Tensors in the background, which run op by op meanwhile; 0 is at once",
    )
    disable_native_entry = Setting(
        "PULLBACK_DISABLE_NATIVE_ENTRY", "0", _switch, "0 or 1",
        "call kernels through ctypes, not through generated entry code",
    )

    @property
    def omp_num_threads(self) -> int:
        """What schedulers and parents of many processes tell a child that it may use; 0 if they say nothing."""
        return _first_count(os.environ.get("OMP_NUM_THREADS", ""))

    @property
    def plain_text(self) -> bool:
        """Whether who reads the terminal wants no colours: https://no-color.org, or a terminal that has none."""
        return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"

    @property
    def launched(self) -> tuple[int, int]:
        """The number of this process and how many there are, as launchers of PyTorch's programs tell them."""
        return int(os.environ.get("RANK") or 0), int(os.environ.get("WORLD_SIZE") or 1)

    @contextmanager
    def override(self, **values: object) -> Iterator[None]:
        """Let other values hold inside a `with`, in this thread (or task) only.

        A value is what the attribute gives (`level=0`, `dump={"graph"}`) or the variable's text.
        """
        found = {}
        for name, value in values.items():
            setting = next((each for each in SETTINGS if each.name == name), None)
            if setting is None:
                names = ", ".join(each.name for each in SETTINGS)
                raise TypeError(f"no setting {name!r}: there are {names}")
            found[setting.variable] = _as_text(value)
            setting.value(found[setting.variable])
        token = _overrides.set(MappingProxyType({**_overrides.get(), **found}))
        try:
            yield
        finally:
            _overrides.reset(token)


def _as_text(value: object) -> str:
    """The text that an environment variable would have for a value."""
    if isinstance(value, set | frozenset | list | tuple):
        return ",".join(sorted(map(str, value)))
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else str(value)


def unknown() -> list[str]:
    """Variables of the environment that look like ours and are not: misspellings, mostly."""
    known = {setting.variable for setting in SETTINGS}
    return sorted(name for name in os.environ if name.startswith("PULLBACK_") and name not in known)


def _refuse_unknown() -> None:
    """Before the first setting is read: a misspelt one would do nothing, and nobody would know."""
    for name in unknown():
        near = get_close_matches(name, [setting.variable for setting in SETTINGS], 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(
            f"{name} is set, and there is no such setting{hint}: unset it; `python -m pullback settings` lists them"
        )
    _checked.append(True)


_checked: list[bool] = []
"""Not empty once no unknown variable was found: the environment is not looked through again."""


SETTINGS: tuple[Setting, ...] = tuple(s for s in vars(Settings).values() if isinstance(s, Setting))
settings = Settings()
