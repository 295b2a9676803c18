"""Loop programs as LLVM text: statements, nests, rows, elements, memory.

This floor writes what the lowering has decided; it decides nothing, but what becomes a function of its own.

    emitted = emit(program, "name", fma=True)
"""

from __future__ import annotations

from .program import ON_STACK, EmittedKernel, emit

__all__ = ["ON_STACK", "EmittedKernel", "emit"]
