"""Functions that draw one number as native loops over arrays of parameters: a function of Python goes in, and a `Loop`
comes out that gives what the function would give for each row of parameters, and leaves the source there.

    Loop(law).run(source, a, b)          float64, law(stream, a[k], b[k]) for each k

What such functions are written in is in `streams_text`. Mathematical functions are the C library's, whose bits are
what PyTorch has. Words are drawn ahead in blocks: an element that a block has no words left for is begun anew with the
next one, and the words that nobody asked for are given back.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from .....compiler.backend.disk.cache import kept_object
from .....compiler.backend.linking.module import Linked, link
from .....compiler.backend.process import library_symbol, native_callable, open_library
from .streams_text import LIBRARY, text
from .twister import Twister

BLOCK = 64, 2**16
"""The least and the most words that are drawn ahead while elements come out."""
ENDLESS = 2**24
"""With so many words for one element, it has no end."""


class Loop:
    """A function of a stream and numbers, for rows of numbers."""

    def __init__(self, law: Callable[..., float]) -> None:
        self.law = law

    @cached_property
    def _native(self) -> tuple[Linked, Callable[..., int]]:
        made, arguments = text(self.law)
        library = open_library()
        linked = link(kept_object(made, 2), {name: library_symbol(library, name) for name in LIBRARY}, ["rows"])
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        kinds = pointer, pointer, word, pointer, word, word, pointer, *[pointer] * arguments
        return linked, native_callable(linked.address("rows"), word, *kinds)

    def run(self, source: Twister, *given: np.ndarray) -> np.ndarray:
        """The law of each row; the arrays have one dimension and one length."""
        rows = [np.ascontiguousarray(each, np.float64) for each in given]
        done, n, least = 0, len(rows[0]), BLOCK[0]
        made, at = np.empty(n), ctypes.c_int64()
        normal = ctypes.c_double(math.nan if source.normal is None else source.normal)
        call, addresses = self._native[1], [each.ctypes.data for each in rows]
        while done < n:
            start = source.state()
            words = np.ascontiguousarray(source.words(max(least, min(8 * (n - done), BLOCK[1]))))
            at.value = 0
            before = done
            done = call(words.ctypes.data, ctypes.addressof(at), len(words), ctypes.addressof(normal), done, n,
                        made.ctypes.data, *addresses)  # fmt: skip
            _give_back(source, start, len(words), at.value)
            source.normal = None if math.isnan(normal.value) else normal.value
            if done == before:
                least = 4 * len(words)
            if least > ENDLESS:
                numbers = ", ".join([f"{float(each[done])}" for each in given])
                raise RuntimeError(
                    f"no number is drawn with the parameters {numbers}: {len(words) // 2:,} uniform ones were all "
                    "rejected; pass parameters that are finite")
        return made


def _give_back(source: Twister, start: object, drawn: int, used: int) -> None:
    """Let a source be where it was after `used` of the words that were `drawn` since it was at `start`."""
    left = drawn - used
    if 0 < left < source.at:  # they are the last of the words at hand
        source.at -= left
    elif left:
        source.go_to(start)  # type: ignore[arg-type]
        source.words(used)


__all__ = ["Loop"]
