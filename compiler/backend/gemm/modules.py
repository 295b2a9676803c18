"""The kind of the numbers goes in, and the LLVM text of our own products comes out: of all of them, or of a part."""

from __future__ import annotations

from .batch import batch, batched
from .pack import copies, copy_declarations, copy_names
from .text import single, text
from .tile import shape, tile_declarations, tile_names, tiles


def inner(dtype: str, bits: int, fma: bool) -> tuple[str, list[str]]:
    """The inner loops, and their names."""
    s = shape(dtype, bits, fma)
    return "\n".join([tiles(s), copies(s)]), [*tile_names(s), *copy_names(s)]


def around(dtype: str, bits: int, fma: bool) -> tuple[str, list[str]]:
    """The functions around them, for this process, and their names."""
    s = shape(dtype, bits, fma)
    parts = [tile_declarations(s), copy_declarations(s), text(s, parallel=True), batch(s)]
    return "\n".join(parts), [single(s.dtype), batched(s.dtype)]


def standalone(dtype: str, bits: int, fma: bool) -> str:
    """The text of a module that calls no thread pool, for files that other processes load."""
    s = shape(dtype, bits, fma)
    return "\n".join([tiles(s), copies(s), text(s, parallel=False), batch(s)])


__all__ = ["around", "inner", "standalone"]
