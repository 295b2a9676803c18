"""Native entries: how Python calls a kernel in tens of nanoseconds.

    specs          what arguments and results are
    text           one entry as LLVM text: guards, the call, the results
    into           arrays of an `out=` argument, and results that overlap an input
    native         the type of compiled functions, and putting entries in front of them
    calls          kernels without an entry: with arrays at hand, or through ctypes

This folder knows the interpreter's objects, and of a kernel only its signature.
"""
