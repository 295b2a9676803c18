"""Kernels at given sizes with the code of others: they tell it their numbers."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...ir.graph import Graph
from ...ir.types import Type
from ...later import later
from ...locks import cached_property
from .. import pool
from ..code import Beside, Code
from ..entries.calls import launcher
from ..kernel import Kernel, layout
from ..linking.module import Linked
from ..start import Start
from .made import Made

if TYPE_CHECKING:
    from .. import emit as emitting
    from .. import stages
else:
    stages = later(__package__, "..stages")


class Wanted(NamedTuple):
    """A graph at its sizes: the types of its parameters and results, and how it is made, which few are asked for."""

    inputs: Sequence[Type]
    results: Sequence[Type]
    graph: Callable[[], Graph]


def _bits(number: float) -> int:
    """A number as it is told."""
    return number if type(number) is int else struct.unpack("<q", struct.pack("<d", number))[0]


class Sized(Kernel):
    """A kernel at given sizes, with the code of a pattern."""

    def __init__(
        self, title: str, optimised: bool, made: Made, code: Code, wanted: Wanted, numbers: Sequence[int], long: bool
    ) -> None:
        self.title, self.name, self.times = title, code.name, code.times
        self.inputs, self._fresh = wanted.inputs, [layout(type) for type in wanted.results]
        self._wanted, self._optimised, self._long = wanted, optimised, long
        self.numbers = np.array([_bits(n) for n in numbers], np.int64)
        self._made, self._shared = made, code
        self.code = Telling(code, self.numbers)

    @cached_property
    def stages(self) -> stages.Stages:
        """The way of the graph at its sizes."""
        return stages.Stages(Start(self._wanted.graph(), self.title), self._optimised)

    @property
    def emitted(self) -> emitting.EmittedKernel:
        """The text of the pattern's code; that of its sizes, where the code came from disk."""
        return self._made.emitted or self.stages.emitted

    @property
    def long(self) -> bool:
        """As `Kernel.long`: it depends on the sizes."""
        return self._long

    @cached_property
    def address(self) -> int:
        """Where the kernel is entered without its numbers, for as long as this object lives."""
        return self.code.address()

    @cached_property
    def _entered(self) -> np.ndarray:
        return np.array([self._shared.address(), self.numbers.ctypes.data], np.int64)

    @property
    def entered(self) -> tuple[int, bool]:
        """Where two words are: where the code is entered, and where the numbers are that it is told."""
        return self._entered.ctypes.data, True

    @cached_property
    def _launch(self) -> Any:
        launch = launcher(len(self.inputs) + len(self._fresh) + 1, self.long)
        return functools.partial(launch, self._shared.address(), self.numbers)

    def run(
        self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> list[np.ndarray]:
        """As `Kernel.run`."""
        self._check(arrays)
        outs = [into[k] if k in into else pool.empty(*layout) for k, layout in enumerate(self._fresh)]
        failure = self._launch(*arrays, *outs)
        if failure is not None:
            raise self.error(*failure)
        return outs


class Telling:
    """The code of a pattern as a kernel without numbers to tell: it has them from an array that outlives it.

    Text knows the array by a name: with its address it would be another one in each process, and never found on disk.
    """

    def __init__(self, code: Code, numbers: np.ndarray) -> None:
        self._code, self._numbers = code, numbers
        self.name, self.count = code.name, code.count - 1
        self._told = f"{code.name}.told"
        self.facts, self.times = code.facts, code.times
        self._linked: Linked | None = None

    @property
    def level(self) -> int:
        return self._code.level

    @property
    def cached(self) -> list[str]:
        return self._code.cached

    @property
    def problem(self) -> str:
        return self._code.problem

    @property
    def tiered(self) -> bool:
        return self._code.tiered

    def load(self, beside: Beside | None = None) -> Linked:
        """As `Code.load`."""
        if beside is None:
            return self._code.load()
        known = f"@{self._told} = external global i64\n"
        symbols = {**beside.symbols, self._told: self._numbers.ctypes.data}
        text, following = known + beside.text, beside.next and known + beside.next
        return self._code.load(Beside(text, symbols, beside.exports, following))

    def call_text(self, given: str, tiered: bool | None = None) -> str:
        """As `Code.call_text`."""
        return self._code.call_text(f"ptr @{self._told}, {given}", tiered)

    def address(self) -> int:
        """Where it is entered."""
        if self._linked is None:
            given = ", ".join(f"ptr %a{k}" for k in range(self.count))
            name = f"{self.name}.telling"
            text = f"define i64 @{name}({given}) nounwind {{\n{self.call_text(given)}\n  ret i64 %status\n}}\n"
            self._linked = self.load(Beside(text, {}, (name,)))
        return self._linked.address(f"{self.name}.telling")


__all__ = ["Sized", "Wanted"]
