"""Compiled functions as C functions: what SciPy, Numba and C call.

    @pullback.jit
    def f(x, y): return np.exp(-x * x) * y

    f.address, f.ctypes                      double f(double x, double y)
    scipy.integrate.quad(LowLevelCallable(f.ctypes), 0, 1, args=(2.0,))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.backend.cfunction import FORMS, CFunction, form_problem
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.results import items_of
from . import kernels
from .compiled import warns


def indices(result: Any) -> list[int]:
    """The numbers of the kernel's results as they stand in a result, each once."""
    items = items_of(result)
    if items is None:
        index = getattr(result, "index", None)
        return [] if index is None else [index]
    return list(dict.fromkeys(k for each in items for k in indices(each)))


class CFunctions:
    """The C functions of a compiled function, each made once and kept as long as this object lives."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._made: dict[tuple[int, str], tuple[CFunction, Any]] = {}

    def make(self, args: tuple[Any, ...], form: str | None) -> CFunction:
        """The C function for arguments like these."""
        owner = self._owner
        if tracing.current() is not None:
            raise RuntimeError(f"cfunc of {owner.__name__} inside a function that is being traced: call it outside")
        if form is not None and form not in FORMS:
            raise ValueError(f"form is {form!r}, expected one of {', '.join(FORMS)}")
        compiled = owner.compiled(owner.flatten(args, {})[0])
        if warns(compiled.graph):
            raise TypeError(f"{owner.__name__} prints, logs or warns, which a C function cannot: take it out")
        kernel, extras = kernels.plain(compiled.kernel), compiled.traced.extras
        if kernel is None:
            raise RuntimeError(f"{owner.__name__} has no machine code{kernels.not_compiled(compiled.kernel)}")
        chosen = form or ("pointers" if form_problem("values", kernel, len(extras)) else "values")
        problem = form_problem(chosen, kernel, len(extras))
        if problem:
            fix = "; leave form out" if form not in (None, "pointers") else ""
            raise TypeError(f"{owner.__name__} cannot be a C function of the form {chosen!r}: it {problem}{fix}")
        key = (id(compiled), chosen)
        if key not in self._made:
            arrays = [np.asarray(tree.canonical(np.asarray(each))) for each in extras]
            self._made[key] = CFunction(kernel, arrays, indices(compiled.result), chosen), compiled
        return self._made[key][0]

    def of_floats(self, count: int, what: str) -> CFunction:
        """The C function for `count` floats; an AttributeError if there is none."""
        name = self._owner.__name__
        try:
            return self.make((1.0,) * count, "values")
        except Exception as error:
            fix = f"call {name}.cfunc(example arguments) for other functions"
            raise AttributeError(f"{name}.{what} is for functions of floats that return a float: {fix}") from error


class Foreign:
    """What a compiled function has for other languages; `_cfunctions` are its C functions."""

    __slots__ = ()

    def cfunc(self: Any, *args: Any, form: str | None = None) -> CFunction:
        """A C function for arguments like these, with `.address`, `.ctypes` and `.prototype`, its declaration in C.

        form   values     double f(double x, double y): numbers in, one float out
               packed     double f(int n, double *xx): float64 numbers and arrays one behind the other in xx
               pointers   int64_t f(const double *x, double *out0, double *out1): anything. It returns 0, and something
                          else if an index was out of range. out0, out1 and so on are the numbers and arrays of the
                          result, as they stand in it. Arrays are C-contiguous; those written overlap nothing

        Left out, it is values if that is possible, else pointers. Without arguments they are floats.

        A float function that fails returns NaN. What the function reads from outside is as it is now. The C function
        needs neither the interpreter nor its lock, any number of threads may call it, and it lives as long as this
        function, the returned object or a pointer that `.ctypes` gave.
        """
        return self._cfunctions.make(args or (1.0,) * self._positional[0], form)

    @property
    def address(self: Any) -> int:
        """The address of the function as `double f(double, ...)`, valid as long as the function lives; see `cfunc`."""
        return self._cfunctions.of_floats(self._positional[0], "address").address

    @property
    def ctypes(self: Any) -> Any:
        """The function as a ctypes function pointer, `double f(double, ...)`; see `cfunc`.

        SciPy takes it as `LowLevelCallable(f.ctypes)`, Numba's compiled functions call it.
        """
        return self._cfunctions.of_floats(self._positional[0], "ctypes").ctypes


__all__ = ["CFunction", "CFunctions", "Foreign"]
