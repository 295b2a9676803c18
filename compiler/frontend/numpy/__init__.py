"""What NumPy's functions mean on traced arrays: each a graph over primitives, under NumPy's own name and signature.

A module registers meanings; whoever calls `np.sort(x)` on a traced `x` gets there by NumPy's protocols:

    @implements(np.sort)
    def sort(a, axis=-1, kind=None, order=None, *, stable=None): ...
"""
