"""SymPy, when it is needed: importing it takes longer than importing all of this package."""

from __future__ import annotations

from typing import Any


def sympy_module() -> Any:
    """The module. Its classes are dynamic, so nothing is said of their types."""
    import sympy

    return sympy


def codegen_module() -> Any:
    """`sympy.codegen` with its nodes for functions of floats: log1p, hypot, logaddexp."""
    import sympy.codegen.cfunctions
    import sympy.codegen.numpy_nodes
    import sympy.codegen.scipy_nodes

    return sympy.codegen


__all__ = ["codegen_module", "sympy_module"]
