"""Linking object files into the process, and unloading them when nobody needs them any more."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ...later import later
from ..machine import CompilerError
from . import elf

if TYPE_CHECKING:
    from . import engines
else:
    engines = later(__package__, ".engines")


class Linked:
    """A module in memory; it stays there as long as this object lives."""

    def __init__(self, addresses: Mapping[str, int], unload: Callable[[], None]) -> None:
        self._addresses = dict(addresses)
        self._unload = weakref.finalize(self, unload)
        self._unload.atexit = False  # daemon threads may run kernels until the very end

    def address(self, name: str) -> int:
        """The address of an exported function or variable."""
        return self._addresses[name]

    @property
    def exports(self) -> tuple[str, ...]:
        """The names that have addresses."""
        return tuple(self._addresses)

    def close(self) -> None:
        """Unload now. No call may be running in the module, nor any come after."""
        self._addresses.clear()
        self._unload()


def link(objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]) -> Linked:
    """Load an object file, its undefined names bound to `symbols`, and look up `exports`."""
    try:
        loaded = _by_us(objects, symbols, exports)
        if loaded is None:
            return Linked(*engines.link(objects, symbols, exports))
    except (elf.Unresolved, RuntimeError) as error:
        raise CompilerError(
            "generated code could not be linked. This is a bug in pullback, not in your "
            f"program: please report it with this message: {error}") from None
    return Linked(loaded.addresses, loaded.unload)


def _by_us(objects: bytes, symbols: Mapping[str, int], exports: Iterable[str]) -> elf.Loaded | None:
    """The object in memory, None where it is LLVM's linker that knows what is in it."""
    if not elf.is_ours(objects):
        return None
    try:
        return elf.load(objects, symbols, exports)
    except elf.Unlinkable:
        return None


__all__ = ["Linked", "link"]
