"""Extension modules: compiled functions as files that Python imports without pullback, llvmlite or NumPy.

This package knows graphs, the stable interface of Python and the linker; it does not know how functions are traced.

    write([Function("loss", ...)], name="kernels", out=Path("."), levels=levels_named("native"))
        kernels.abi3.so   the module: kernels.loss(...), kernels.graph, kernels.cpu
        kernels.o         the kernels alone, C functions without Python
        kernels.h         their declarations
        kernels.pyi       the types of the Python functions
    unpack(bytes of kernels.abi3.so)        the functions again, from what the module carries, without running it
"""

from .carried import MAGIC, KernelError, seal, unpack
from .cpu import levels_named
from .describe import FIXED, Function
from .module import write

__all__ = ["FIXED", "MAGIC", "Function", "KernelError", "levels_named", "seal", "unpack", "write"]
