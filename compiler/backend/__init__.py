"""From loops to machine code: what is known of LLVM, of the processor and of the interpreter's objects.

This floor turns the loop language into LLVM text, LLVM text into objects, objects into addresses, and addresses into
Python functions that are entered in tens of nanoseconds. It knows nothing of how user code was traced.
"""
