"""From loops to machine code: what is known of LLVM, of the processor and of the interpreter's objects.

This floor turns the loop language into LLVM text, LLVM text into objects, objects into addresses, and addresses into
Python functions that are entered in tens of nanoseconds. It knows nothing of how user code was traced.

    emit         loops as LLVM text;  elementary  functions of numbers, sized  loops for any size, gemm  products
    text         how instructions, casts and values are spelled;  libraries  calls of LAPACK
    stages       a graph on its way to text;  kernel, code, tiers  its machine code, and where that comes from
    machine      LLVM's code generator;  linking  objects in memory;  disk  objects kept for later processes
    entries      Python functions in front of kernels;  extension  modules to import;  cfunction  addresses for C
    threads      loops on several cores;  pool  memory of results
    process      calls into the operating system and the interpreter;  python_abi  how its objects lie in memory
"""
