"""Graphs that call LAPACK or NumPy, as graphs that call nothing: for modules, which run where there is neither.

    matrices   LU, Cholesky's and Householder's factors, triangular systems;  spectra  eigenvalues and singular values
    ordering   sorts and searches;  fourier  transforms
    replacing  puts them in the place of operations

What an operation means is written as plain NumPy here, with loops and branches, and becomes a graph as a user's
function does; so it is native code for every processor that modules are built for, without a line of LLVM's text.
"""
