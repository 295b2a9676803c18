"""Traces that have a kernel: `Replay(kernel, sources, results)(tape)` runs one natively.

    sources    Input(CELL, 0), Input(CONSTANT, array), Input(NUMBER, 3, "f32") ...   the kernel's inputs, in order
    results    (number of a value, its kind) ...                                     its results, in order
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....compiler.backend import pool
from ....compiler.backend.disk.cache import kept_object
from ....compiler.backend.kernel import Kernel, layout
from ....compiler.backend.linking.module import Linked, link
from ....compiler.backend.once import once
from ....compiler.backend.python_abi import BYTES_DATA
from ....compiler.ir.types import STORED
from .layout import Range, Source, words
from .objects.arrays_text import BYTES, WORDS
from .snippets import get

_RANGES = {"bool": Range.BOOL, "i32": Range.I32, "i64": Range.I64, "f32": Range.F32, "f64": Range.F64}

DTYPE_NAMES = frozenset(_RANGES)
"""The dtypes of Python numbers that a kernel may read."""


class Input(NamedTuple):
    """Where an input comes from: a tag of `Source`, the number of a value or a constant, the dtype of a number."""

    tag: int
    what: Any
    dtype: str = ""


class Replay:
    """Runs a kernel on the values of a trace, and hands out its results."""

    def __init__(self, kernel: Kernel, sources: Sequence[Input], results: Sequence[tuple[int, Any]]) -> None:
        self.kernel = kernel
        given = [_layout(layout(type)[0], type.numpy) for type in kernel.inputs]
        made = [_layout(*each) for each in kernel.outputs]
        entered, told = kernel.entered
        runner = _runner(len(given) + len(made), told)  # of which another thread may be making a second one
        self._keep = given, made, sources, results, runner
        described = [
            (s.tag, id(s.what) if s.tag == Source.CONSTANT else s.what, _RANGES.get(s.dtype, 0), _data(block))
            for s, block in zip(sources, given, strict=True)]
        aliases = kernel.aliases
        wanted = [
            (aliases.get(k, -1), n, id(kind), _data(block))
            for k, ((n, kind), block) in enumerate(zip(results, made, strict=True))]
        self.words = runner.address("run"), entered, bool(kernel.long), words(*described), words(*wanted)

    def __call__(self, tape: Any) -> list[Any] | None:
        """Run the trace; the late tensors with history that got a value. None: an input is not what was expected."""
        made = tape.replay(*self.words)
        return self.settled(made)

    def settled(self, made: Any) -> list[Any] | None:
        """What `replay` returned, with its error raised."""
        if type(made) is tuple:
            raise self.kernel.error(made[0], made[1:])
        return None if made is NotImplemented else made

    def stay(self, state: Any, live: bytes, held: tuple[int, ...] | None, *more: Any) -> None:
        """Let `tape.rerun()` run this, if the trace ends in this state again and the same values are wanted.

        held   of which values tensors with late nodes get a record; None where Python is to say what they get
        more   stands at the end of `state.plan`
        """
        state.live, state.plan = live, (*self.words, self, held, *more)  # which keeps the kernel while this is known


@once
def _layout(shape: tuple[int, ...], dtype: np.dtype, nbytes: int = 0) -> bytes:
    """A layout in the words of `replay_text`; it is kept for ever, and so is its dtype."""
    standard = next((each for each in STORED.values() if each == dtype), dtype)
    _dtypes.append(standard)
    maker = pool.address() if nbytes >= pool.LARGE else 0
    kept = _place_of_arrays(nbytes) if 0 < nbytes < pool.LARGE else 0
    return struct.pack(f"<{5 + len(shape)}q", id(standard), standard.num, len(shape), maker, kept, *shape)


def _place_of_arrays(nbytes: int) -> int:
    """The address of words where native code keeps arrays of so many bytes."""
    place = np.zeros(WORDS, np.int64)
    place[BYTES // 8] = nbytes
    _places.append(place)
    return place.ctypes.data


_places: list[np.ndarray] = []
_dtypes: list[np.dtype] = []


def _data(block: bytes) -> int:
    return id(block) + BYTES_DATA


@once
def _runner(count: int, told: bool) -> Linked:
    """A function that calls kernels with so many pointers, which it finds in an array.

    Kernels that are `told` numbers are two words: where code is entered, and where the numbers are, its first pointer.
    """
    kernel = f"{get('code', '%kernel', 0)}\n{get('numbers', '%kernel', 8)}\n" if told else ""
    loads = kernel + "\n".join([get(f"p{k}", "%pointers", 8 * k) for k in range(count)])
    numbers = ["ptr %numbers"] if told else []
    given = ", ".join([*numbers, *(f"ptr %p{k}" for k in range(count)), "ptr %report"])
    text = f"""
define i64 @run(ptr %kernel, ptr %pointers, ptr %report) nounwind {{
entry:
{loads}
  %status = call i64 %{'code' if told else 'kernel'}({given})
  ret i64 %status
}}
"""
    return link(kept_object(text), {}, ["run"])
