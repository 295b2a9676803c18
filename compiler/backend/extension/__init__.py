"""Extension modules: compiled functions as files that Python imports without pullback, llvmlite or NumPy.

This package knows graphs, the stable interface of Python and the linker; it does not know how functions are traced.

    write([Function("loss", ...)], name="kernels", out=Path("."), levels=levels_named("native"))
        kernels.abi3.so   the module: kernels.loss(...), kernels.graph, kernels.cpu
        kernels.o         the kernels alone, C functions without Python
        kernels.h         their declarations
        kernels.pyi       the types of the Python functions
    write_for([Function(...)], name="kernels", out=Path("."), target="wasm32")
        kernels.o         the kernels alone for another kind of machine, and kernels.h
        kernels.wasm      for this one, and kernels.mjs, which loads it
    unpack(bytes of kernels.abi3.so)        the functions again, from what the module carries, without running it
"""

from collections.abc import Sequence
from pathlib import Path

from .bare import write_bare
from .carried import MAGIC, KernelError, seal, unpack
from .cpu import levels_named
from .describe import FIXED, Case, Function, served_words
from .module import write
from .targets import target_named
from .wasm import write_wasm


def write_for(functions: Sequence[Function], name: str, out: Path, target: str) -> Path:
    """Write functions as files for a kind of machine into the folder `out`; the path of the first of them."""
    kind = target_named(target)
    return (write_wasm if kind.name == "wasm32" else write_bare)(functions, name, out, kind)


__all__ = ["FIXED", "MAGIC", "Case", "Function", "KernelError", "levels_named", "seal", "served_words", "target_named",
           "unpack", "write", "write_for"]
