"""What packages tell PyTorch's compiler; see pullback.compiler.directives."""

from pullback import _nn as _loaded  # noqa: F401
from pullback.compiler.directives import (  # noqa: F401
    allow_in_graph,
    assume_constant_result,
    config,
    disable,
    graph_break,
    is_compiling,
    list_backends,
    mark_dynamic,
    mark_static,
    reset,
    set_stance,
    substitute_in_graph,
)
from pullback.compiler.directives import disable as disallow_in_graph  # noqa: F401
from pullback.compiler.directives import mark_dynamic as maybe_mark_dynamic  # noqa: F401
from pullback.compiler.directives import mark_static as mark_static_address  # noqa: F401
from pullback.runtime.nn.optimized import OptimizedModule  # noqa: F401
