"""Files that nobody but this user can have written, in a folder that is his alone, and a secret that signs them.

    if is_safe(folder):                        a folder, of this user, that nobody else can write to: tells if it is not
        read(path)                             the bytes of a plain file like that, else None
        sign(folder, name, data)               what only he can make of a name and of bytes, wherever they are put

The secret is a file of 32 bytes in the folder. Whoever cannot read it can exchange no file for another one, nor make
one; without a secret there is no signature.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...later import later

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = later(None, "tempfile")  # which loads three compressors

SECRET = "key"
LENGTH = 32
"""Bytes of a secret, and of a signature."""

_told: set[str] = set()
_secrets: dict[str, bytes] = {}


def is_safe(folder: Path, tell: bool = True) -> bool:
    """Whether a folder is this user's alone to write to; `tell` has it said, once, if it is there and is not."""
    try:
        link, status = os.lstat(folder), os.stat(folder)
    except (OSError, ValueError):
        return False
    mine = link.st_uid == status.st_uid == os.geteuid()
    if mine and stat.S_ISDIR(status.st_mode) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    if tell and str(folder) not in _told and stat.S_ISDIR(status.st_mode):
        _told.add(str(folder))
        why = "others can write to it: chmod 700 it" if mine else "it belongs to another user"
        other = "or set PULLBACK_CACHE_DIR to a folder of your own, or PULLBACK_CACHE=0"
        warnings.warn(f"compiled code is not kept in {folder}, for {why}, {other}", RuntimeWarning, stacklevel=2)
    return False


def read(path: Path, most: int) -> bytes | None:
    """What is in a plain file of this user that nobody else can write to; None if there is none, or it is larger."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with suppress(OSError), open(handle, "rb") as file:
        status = os.fstat(handle)
        plain = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_size <= most
        if plain and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return file.read()
    return None


def write(path: Path, *parts: bytes) -> None:
    """Put a file in its place, whole or not at all."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".new")
    try:
        with open(handle, "wb") as file:
            file.writelines(parts)
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(beside)
        raise


def sign(folder: Path, name: str, *parts: bytes) -> str | None:
    """The signature of some bytes under a name; None if the folder has no secret and can get none."""
    secret = _secrets.get(str(folder)) or _secret(folder)
    if secret is None:
        return None
    made = hmac.new(secret, f"{name} {' '.join(str(len(p)) for p in parts)} ".encode(), "sha256")
    for part in parts:
        made.update(part)
    return made.hexdigest()


def _secret(folder: Path) -> bytes | None:
    """The secret of a folder; processes that begin together agree on the first."""
    path = folder / SECRET
    found = _kept(path)
    if found is None:
        with suppress(OSError):
            if os.path.lexists(path):  # something else, or a secret that others may have read
                write(path, secrets.token_bytes(LENGTH))
            else:
                _first(path, secrets.token_bytes(LENGTH))
        found = _kept(path)
    if found is not None:
        _secrets[str(folder)] = found
    return found


def _kept(path: Path) -> bytes | None:
    found = read(path, LENGTH)
    with suppress(OSError):
        if found is not None and len(found) == LENGTH and not os.lstat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return found
    return None


def _first(path: Path, secret: bytes) -> None:
    """Put a secret where there is none; another one that is faster stays."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".new")
    with suppress(OSError):
        with open(handle, "wb") as file:
            file.write(secret)
        try:
            os.link(beside, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.replace(beside, path)
    with suppress(OSError):
        os.unlink(beside)


__all__ = ["is_safe", "read", "sign", "write"]
