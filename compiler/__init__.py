"""The compiler: graphs, primitives, passes, lowering, native code and front ends.

Its floors, each importing only from those to its left:

    settings -> ir -> loops -> ops -> passes -> lowering -> backend -> frontend -> here

What is on disk needs no lowering and no LLVM text: those are loaded `later`. Under PyTorch's name, `torch.compiler`,
programs find here what they tell a compiler.
"""

if __name__.partition(".")[0] != "pullback":
    raise ImportError(f"import this package as pullback.compiler, not as {__name__}")

from .directives import (
    allow_in_graph,
    assume_constant_result,
    config,
    cudagraph_mark_step_begin,
    disable,
    is_compiling,
    is_exporting,
    list_backends,
    nested_compile_region,
    reset,
    set_stance,
    substitute_in_graph,
)

is_dynamo_compiling = is_compiling

__all__ = [
    "allow_in_graph", "assume_constant_result", "config", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset", "set_stance",
    "substitute_in_graph",
]  # fmt: skip
