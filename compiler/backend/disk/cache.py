"""Object code kept on disk for later processes: what it was made of goes in, and the object comes out (`store`).

A key is a hash of what the code was made from: a graph or LLVM text, the settings, the processor, the versions of
LLVM and of this package, and its sources.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence

from ...settings import SETTINGS, settings
from ..machine import compile_object
from ..processor import cpu_features, cpu_name, llvm_version
from . import store

SILENT = {
    "dump", "dump_to", "time", "check", "reference", "level", "cache", "cache_dir", "progress", "log", "traceback",
}
"""Settings that change no code; the level is part of a key by itself."""


def enabled() -> bool:
    """Whether compiled code is looked for on disk; passes that are to be checked must run."""
    return settings.cache and not settings.check


def key_of(*parts: str | bytes) -> str:
    """The key of what was made from `parts`, on this machine, by this package, as it is set now."""
    digest = hashlib.sha256(_surroundings().encode(errors="surrogatepass"))
    for each in (*(f"{s.name}={s.text}" for s in SETTINGS if s.name not in SILENT), *parts):
        data = each.encode(errors="surrogatepass") if isinstance(each, str) else each
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def kept_object(text: str, level: int = 0) -> bytes:
    """The object of LLVM text: from disk if it is there, else made and kept."""
    return kept(lambda: (text, ()), level, "text", text)[0]


def kept(make: Callable[[], tuple[str, Sequence[str]]], level: int, *parts: str) -> tuple[bytes, Sequence[str]]:
    """The object of the LLVM text that `make` makes of `parts`, and the names that it tells with it, likewise."""
    key = key_of(*parts, str(level)) if enabled() else ""
    found = store.read(key) if key else None
    if found is not None and "names" in found.facts:
        return found.objects, found.facts["names"]
    text, names = make()
    objects = compile_object(text, level)
    if key:
        store.write(key, objects, {"names": names})
    return objects, names


@functools.cache
def _surroundings() -> str:
    """What the code depends on beside its source: LLVM, the processor, and this package as it is on disk."""
    state = []
    for folder, _, names in os.walk(os.path.dirname(os.path.dirname(__file__))):
        for path in [os.path.join(folder, name) for name in names if name.endswith(".py")]:
            status = os.stat(path)
            state.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return "\n".join([store.MAGIC, llvm_version(), cpu_name(), " ".join(sorted(cpu_features())), *sorted(state)])


__all__ = ["enabled", "kept", "kept_object", "key_of"]
