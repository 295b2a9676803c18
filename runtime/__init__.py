"""What users hold: transforms, Tensors, symbols, kernels on disk, networks and optimisers.

Everything here stands on the compiler, and nothing in the compiler knows of it. The public names
are in the face, package `pullback`, which loads these modules when a name is first used.
"""

if __name__.partition(".")[0] != "pullback":
    raise ImportError(f"import this package as pullback.runtime, not as {__name__}")
