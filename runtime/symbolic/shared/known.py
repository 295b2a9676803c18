"""Arrays of known numbers in expressions: a name as an IndexedBase has one, which knows its numbers.

    x = known_array()("x", array)      x[k] is x[k], and x[3] the number; lambdify computes with the array

What a function reads of an array that is no argument, such as its observations, is read out so where it is large.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .library import sympy_module


@cache
def known_array() -> Any:
    """The class, made when SymPy is there."""
    sympy = sympy_module()

    class Numbers(sympy.Atom):
        """The numbers, which are compared as an object: nobody writes to them."""

        def __new__(cls, array: np.ndarray) -> Any:
            made = sympy.Atom.__new__(cls)
            made.array = array
            return made

        def _hashable_content(self) -> tuple[Any, ...]:
            return (id(self.array),)

    class KnownArray(sympy.IndexedBase):
        """An array of this name with these numbers."""

        def __new__(cls, label: Any, array: Any, *rest: Any) -> Any:
            numbers = rest[0] if rest else Numbers(np.array(array))  # rebuilt of its args: label, shape, numbers
            made = sympy.IndexedBase.__new__(cls, label, numbers.array.shape)
            made._args = (*made.args, numbers)
            return made

        @property
        def array(self) -> np.ndarray:
            return self.args[2].array

        def __getitem__(self, indices: Any, **kw_args: Any) -> Any:
            index = tuple(indices) if isinstance(indices, (tuple, list, sympy.Tuple)) else (indices,)
            if all(isinstance(i, int) or i.is_Integer for i in index):
                return sympy.sympify(self.array[tuple(map(int, index))].item())
            return sympy.IndexedBase.__getitem__(self, indices, **kw_args)

        def __iter__(self) -> Any:  # so that SymPy asks for the number where an index becomes one
            return iter(self.array)

    return KnownArray


__all__ = ["known_array"]
