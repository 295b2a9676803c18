"""What expressions are read over while a function is traced: real terms of one type, or arrays of any.

    m = RealAlgebra(now, Type("f64", (3,)))     elementwise operations of one type, emitted at once
    m = ArrayAlgebra(now)                       NumPy's own functions on traced arrays, for complex numbers

Both have the primitives and the functions of `scipy.special` as methods. `m.array(x)` is a term as a traced array, and
`m.term(x)` an array as a term.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ....compiler.frontend.array import Array
from ....compiler.frontend.promotion import conform
from ....compiler.frontend.tracing import Tracing
from ....compiler.ir.graph import Value
from ....compiler.ir.types import Type
from ....compiler.ops.scipy.called import TABLE, Functions
from ....compiler.ops.term import Sharing, Term
from .arguments import ArrayElement

CONDITIONS = ("and_", "or_", "xor", "not_")
"""What is computed of conditions."""


class RealAlgebra(Functions):
    """Terms of one type, which numbers take where no other term says so; `sources` are elements of arrays by key."""

    __slots__ = ("now", "type", "sizes", "sources")

    def __init__(
        self, now: Tracing, type: Type, sizes: dict[Any, int], sources: Mapping[Any, ArrayElement] | None = None
    ) -> None:
        super().__init__(now.builder)
        self.now, self.type, self.sizes, self.sources = now, type, sizes, sources or {}

    def _alike(self, args: tuple[Any, ...]) -> list[Value]:
        if not any(isinstance(a, Term) for a in args):
            args = (self.number(float(args[0]), self.type), *args[1:])
        return super()._alike(args)

    def call(self, name: str, *args: Any) -> Any:
        load_scipy(name)
        if not any(isinstance(a, Term) for a in args):
            args = (self.number(float(args[0]), self.type), *args[1:])
        return super().call(name, *args)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = super().__getattr__(name)
        if name not in CONDITIONS:
            return found
        return lambda *ps: found(*map(self._truth, ps))

    def select(self, p: Term, a: Any, b: Any) -> Term:
        if not isinstance(a, Term) and not isinstance(b, Term):
            a = self.number(float(a), self.type)
        return super().select(self._truth(p), a, b)

    def _truth(self, p: Any) -> Any:
        """A condition, which a symbol may be: what is not zero holds."""
        is_number = isinstance(p, Term) and p.value.type.dtype != "bool"
        return self.ne(p, 0.0) if is_number else p

    def array(self, x: Any) -> Any:
        """A term as an array of its own type; other things as they are."""
        return Array(self.now, x.value) if isinstance(x, Term) else x

    def term(self, x: Any) -> Term:
        """A number or array as a term of the type."""
        if isinstance(x, Term):
            return x
        dtype = np.dtype(bool) if getattr(x, "dtype", None) == np.bool else self.type.numpy
        return Term(self, conform(self.now, x, dtype, self.type.shape))

    def like(self, now: Tracing, shape: tuple[Any, ...] | None = None) -> RealAlgebra:
        """The same in another trace, or of another shape."""
        return RealAlgebra(now, self.type if shape is None else self.type.with_shape(shape), self.sizes)

    @property
    def batch(self) -> tuple[Any, ...]:
        """The shape that a number has."""
        return self.type.shape


class SharedAlgebra(Sharing, RealAlgebra):
    """The same where what is made is made in one straight line, so that equal operations are made once."""

    __slots__ = ("made",)

    def __init__(self, now: Tracing, type: Type) -> None:
        super().__init__(now, type, {})
        self.made = {}


class ArrayAlgebra:
    """Traced arrays and numbers of any type as terms, their operations by NumPy's names."""

    names: ClassVar = {
        "select": "where", "and_": "logical_and", "or_": "logical_or", "xor": "logical_xor", "not_": "logical_not",
        "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
        "pow": "power",
    }  # fmt: skip

    def __init__(self, now: Tracing, batch: tuple[Any, ...], sizes: dict[Any, int]) -> None:
        self.now, self.batch, self.sizes = now, batch, sizes

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = getattr(np, self.names.get(name, name), None)
        if found is None:
            found = getattr(sys.modules.get("scipy.special"), name, None)
        if found is None:
            raise TypeError(f"lambdify: {name} is not there for complex numbers")
        if name in ("lt", "le", "gt", "ge"):
            return lambda x, y: found(*map(_real, (x, y)))
        return found

    def sinc(self, x: Any, n: int) -> Any:
        return np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x))

    def array(self, x: Any) -> Any:
        return x

    def term(self, x: Any) -> Any:
        return x

    def like(self, now: Tracing, shape: tuple[Any, ...] | None = None) -> ArrayAlgebra:
        """The same in another trace, or of another shape."""
        return ArrayAlgebra(now, self.batch if shape is None else shape, self.sizes)


def _real(x: Any) -> Any:
    """The real part, by which complex numbers are in order where their imaginary parts are 0."""
    return x.real if np.iscomplexobj(x) else x


class Probe:
    """An algebra and its only term, which notes the functions that are asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        self.names.append(name)
        return lambda *args, **attributes: self

    def __getitem__(self, key: Any) -> Any:
        return self

    def _self(self, *args: Any) -> Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _self


def load_scipy(name: str, always: bool = False) -> None:
    """Have `scipy.special` at hand, whose functions are called."""
    if "scipy.special" in sys.modules or not (always or name in TABLE):
        return
    try:
        import scipy.special  # noqa: F401
    except ImportError:
        verdict = f"lambdify: {name} is computed by scipy.special, which is not installed"
        raise ImportError(f"{verdict}: pip install scipy") from None


__all__ = ["ArrayAlgebra", "Probe", "RealAlgebra", "SharedAlgebra", "load_scipy"]
