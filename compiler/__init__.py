"""The compiler: graphs, primitives, passes, lowering, native code and front ends.

Its floors, each importing only from those to its left:

    settings -> ir -> loops -> ops -> passes -> lowering -> backend -> frontend -> here

What is on disk needs no lowering and no LLVM text: those are loaded `later`.
"""

if __name__.partition(".")[0] != "pullback":
    raise ImportError(f"import this package as pullback.compiler, not as {__name__}")
