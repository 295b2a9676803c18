"""Object code kept on disk for later processes.

    folder/ab/abcd....o     one file for a key: a head of one line, then the object

A key is a hash of what the code was made from: a graph or LLVM text, the settings, the processor, the versions of
LLVM and of this package, and its sources. The head says how long the object is and what its hash is, and has facts
about it as JSON. A file that is not what its head says is taken away, and what it should have held is made anew; so
is one that belongs to another user or that others may write to. Files are written beside their place and renamed, so
that a reader sees a whole file or none; those unused for longest go when the folder has grown too large.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from ..settings import SETTINGS, settings
from .machine import compile_object, cpu_features, cpu_name

MAGIC = "pullback object 1"
LIMIT = 256 * 2**20
"""Bytes that the folder may hold."""

WRITES_PER_SWEEP = 64
"""How many files are written between two looks at the folder's size."""

SILENT = {"dump", "dump_to", "time", "check", "reference", "level", "cache", "cache_dir"}
"""Settings that change no code; the level is part of a key by itself."""


class Stored(NamedTuple):
    """What the cache has for a key."""

    facts: Mapping[str, Any]
    objects: bytes


def enabled() -> bool:
    """Whether compiled code is looked for on disk; passes that are to be checked must run."""
    return settings.cache and not settings.check


def key_of(*parts: str) -> str:
    """The key of what was made from `parts`, on this machine, by this package, as it is set now."""
    digest = hashlib.sha256(_surroundings().encode())
    for each in (*(f"{s.name}={s.text}" for s in SETTINGS if s.name not in SILENT), *parts):
        data = each.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read(key: str) -> Stored | None:
    """What was written for a key, if it is there and whole."""
    path = _path(key)
    try:
        with open(path, "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                return None
            head, objects = file.readline(4096), file.read()
    except OSError:
        return None
    facts = _facts(head, objects)
    if facts is None:
        _remove(path)
        return None
    with suppress(OSError):
        os.utime(path)
    return Stored(facts, objects)


def write(key: str, objects: bytes, facts: Mapping[str, Any] | None = None) -> None:
    """Keep an object for a key; where that cannot be, nothing happens."""
    head = {"magic": MAGIC, "hash": hashlib.sha256(objects).hexdigest(), "facts": dict(facts or {})}
    path = _path(key)
    with suppress(OSError):
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(os.stat(path.parent)):
            return
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".new")
        try:
            with open(handle, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n")
                file.write(objects)
            os.replace(beside, path)
        except OSError:
            _remove(Path(beside))
            raise
        _count_write()


def kept_object(text: str, level: int = 0) -> bytes:
    """The object of LLVM text: from disk if it is there, else made and kept."""
    key = key_of("text", str(level), text) if enabled() else ""
    found = read(key) if key else None
    if found is not None:
        return found.objects
    objects = compile_object(text, level)
    if key:
        write(key, objects)
    return objects


def folder() -> Path:
    """Where object code is kept."""
    return settings.cache_dir or _default_folder()


@functools.cache
def _default_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("pullback", appauthor=False)


def _path(key: str) -> Path:
    return folder() / key[:2] / f"{key}.o"


def _facts(head: bytes, objects: bytes) -> Mapping[str, Any] | None:
    """The facts in a head, if it is the head of these objects."""
    try:
        found = json.loads(head)
        whole = found["magic"] == MAGIC and found["hash"] == hashlib.sha256(objects).hexdigest()
        return found["facts"] if whole and isinstance(found["facts"], dict) else None
    except (ValueError, KeyError, TypeError):
        return None


def _is_private(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@functools.cache
def _surroundings() -> str:
    """What the code depends on beside its source: LLVM, the processor, and this package as it is on disk."""
    state = []
    for folder, _, names in os.walk(os.path.dirname(os.path.dirname(__file__))):
        for path in [os.path.join(folder, name) for name in names if name.endswith(".py")]:
            status = os.stat(path)
            state.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    version = ".".join(map(str, llvm.llvm_version_info))
    return "\n".join([MAGIC, version, cpu_name(), " ".join(sorted(cpu_features())), *sorted(state)])


_written = 0


def _count_write() -> None:
    global _written
    _written += 1
    if _written % WRITES_PER_SWEEP == 1:
        sweep()


def sweep(limit: int = LIMIT) -> None:
    """Take files away, those unused for longest first, until at most `limit` bytes are left."""
    found = []
    for path in folder().glob("??/*"):
        with suppress(OSError):
            status = os.stat(path)
            found.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        _remove(path)
        total -= size


def _remove(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


__all__ = ["Stored", "enabled", "folder", "kept_object", "key_of", "read", "sweep", "write"]
