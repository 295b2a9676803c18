"""Files that are kept on disk for later processes: a key, bytes and facts go in, and come out again.

    folder/ab/abcd....o     one file for a key: a head of one line, then the object
    folder/key              the secret with which they are signed
    folder/swept            tells when a process last looked how large the folder is

A key is a hash of what the code was made from (`cache`). The head has facts about the object, as JSON, and the
signature of key, facts and object: a file under another key, of another user's folder or of which a bit has changed is
taken away, and what it should have held is made anew. A folder that others can write to is not used at all. Files are
written beside their place and renamed, so that a reader sees a whole file or none; those unused for longest go when
the folder has grown too large. Whatever is wrong with the folder, it costs time only; nothing that is read there is
run or unpickled before its signature is known to be ours.
"""

from __future__ import annotations

import functools
import hmac
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...settings import settings
from . import private

MAGIC = "pullback object 2"
LIMIT = 256 * 2**20
"""Bytes that the folder may hold."""

ABANDONED = 3600
"""Seconds after which a file that is not in its place will not get there."""

WRITES_PER_SWEEP = 64
"""How many files a process writes between two looks at the folder's size; its first is one if nobody's was lately."""

SWEPT = "swept"
"""The file whose time is that of the last look."""


class Stored(NamedTuple):
    """What the cache has for a key."""

    facts: Mapping[str, Any]
    objects: bytes


def read(key: str) -> Stored | None:
    """What was written for a key, if it is there and whole."""
    where = folder()
    if where is None or not private.is_safe(where):
        return None
    path = _path(where, key)
    found = _verified(where, path, key)
    if found is not None:
        with suppress(OSError):
            os.utime(path)
    return found


def has(key: str) -> bool:
    """Whether something was written for a key, whole or not."""
    where = folder()
    return where is not None and _path(where, key).exists()


def _verified(where: Path, path: Path, key: str) -> Stored | None:
    """What is in a file that we have signed for this key; another file is taken away."""
    data = private.read(path, LIMIT)
    if data is None:
        return None
    head, _, objects = data.partition(b"\n")
    magic, _, rest = head.partition(b"\t")
    signature, _, facts = rest.partition(b"\t")
    ours = private.sign(where, key, facts, objects)
    if ours is None:
        return None
    if magic != MAGIC.encode() or not hmac.compare_digest(signature, ours.encode()):
        _remove(path)
        return None
    return Stored(json.loads(facts), objects)


def write(key: str, objects: bytes, facts: Mapping[str, Any] | None = None) -> None:
    """Keep an object for a key; where that cannot be, nothing happens."""
    where = folder()
    if where is None:
        return
    path = _path(where, key)
    with suppress(OSError, ValueError):
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not private.is_safe(where):
            return
        path.parent.mkdir(mode=0o700, exist_ok=True)
        told = json.dumps(dict(facts or {})).encode()
        signature = private.sign(where, key, told, objects)
        if signature is not None and private.is_safe(path.parent, tell=False):
            private.write(path, MAGIC.encode(), b"\t", signature.encode(), b"\t", told, b"\n", objects)
            _count_write(where)


def folder() -> Path | None:
    """Where object code is kept; None if this user has no place for it."""
    return settings.cache_dir or _default_folder()


@functools.cache
def _default_folder() -> Path | None:
    from platformdirs import user_cache_path

    try:
        found = user_cache_path("pullback", appauthor=False)
    except (OSError, RuntimeError):
        return None
    return found if found.is_absolute() else None  # without a home it begins with ~


def _path(where: Path, key: str) -> Path:
    return where / key[:2] / f"{key}.o"


_written = 0


def _count_write(where: Path) -> None:
    global _written
    _written += 1
    if _written % WRITES_PER_SWEEP == 0 or (_written == 1 and not _is_swept(where)):
        sweep()


def _is_swept(where: Path) -> bool:
    """Whether a process has looked at the folder's size lately."""
    with suppress(OSError):
        return os.lstat(where / SWEPT).st_mtime > time.time() - ABANDONED
    return False


def sweep(limit: int = LIMIT) -> None:
    """Take files away, those unused for longest first, until at most `limit` bytes are left; and half-written ones."""
    where, found = folder(), []
    if where is None or not private.is_safe(where):
        return
    with suppress(OSError):
        private.write(where / SWEPT)  # first, so that of processes that begin together one looks
    abandoned = time.time() - ABANDONED
    for each, status in _files(where):
        if each.name.startswith(".new") and status.st_mtime < abandoned:
            _remove(Path(each.path))
        else:
            found.append((status.st_mtime_ns, status.st_size, each.path))
    total = sum(size for _, size, _ in found)
    if total <= limit:
        return
    for _, size, path in sorted(found):
        if total <= limit:
            break
        _remove(Path(path))
        total -= size


def _files(where: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """All files in the folders of a folder, with what the system says of them: no `Path` for each of ten thousand."""
    with suppress(OSError):
        for inner in os.scandir(where):
            if len(inner.name) == 2 and inner.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    for each in os.scandir(inner):
                        with suppress(OSError):
                            yield each, each.stat(follow_symlinks=False)


def contents() -> list[tuple[Path, int, float]]:
    """The files of the folder, how large they are, and when they were used, latest first; none if it is not safe."""
    where = folder()
    files = _files(where) if where is not None and private.is_safe(where) else ()
    found = [(Path(each.path), status.st_size, status.st_mtime)
             for each, status in files if each.name.endswith(".o") and stat.S_ISREG(status.st_mode)]
    return sorted(found, key=lambda each: (-each[2], each[0]))


def verify() -> tuple[int, int]:
    """How many files are whole and ours, and how many are not; of these, those of this user have been taken away."""
    where, whole, files = folder(), 0, contents()
    for path, _, _ in files:
        assert where is not None, "a folder has contents"
        good = path.parent.name == path.name[:2] and _verified(where, path, path.stem) is not None
        if not good:
            _remove(path)
        whole += good
    return whole, len(files) - whole


def clear() -> int:
    """Take all files away, half-written ones too; how many bytes that were. The secret stays."""
    where, files = folder(), contents()
    for path, _, _ in files:
        _remove(path)
    for path in where.glob("??/.new*") if where is not None and private.is_safe(where) else ():
        _remove(path)
    return sum(size for path, size, _ in files if not os.path.lexists(path))


def _remove(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


__all__ = ["LIMIT", "MAGIC", "Stored", "clear", "contents", "folder", "has", "read", "sweep", "verify", "write"]
