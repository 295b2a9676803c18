"""Which functions are recorded as whole calls: the methods of tensors, and the functions of modules that ask for it."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from ...compiled.byname import name_in, name_tables
from .apart import asking
from .calls import recorded

NUMBERS = {
    "add": ("other",), "sub": ("other",), "rsub": ("other",), "mul": ("other",), "div": ("other",), "rdiv": ("other",),
    "eq": ("other",), "ne": ("other",), "lt": ("other",), "le": ("other",), "gt": ("other",), "ge": ("other",),
    "maximum": ("other",), "minimum": ("other",), "where": ("input", "other"), "masked_fill": ("value",),
    "clamp": ("min", "max"), "leaky_relu": ("negative_slope",),
}  # fmt: skip
"""Parameters whose numbers may be others at each call: the functions hand them on to one operation, untouched."""

CUTTING = {
    "getitem", "narrow", "select", "split", "chunk", "unbind", "tensor_split", "split_with_sizes", "index_select",
}  # fmt: skip
"""Functions whose results are cut from values that are there, and are no part of a trace."""

SHAPING = {"unsqueeze", "squeeze", "reshape", "view_as_shape", "view_as", "flatten", "ravel"}
"""Functions that do so with integers, which are mostly indices: where they are used, their values are asked for."""

PLACING = {"setitem"}
"""Functions that write to a place which is another one at each step, as a row of a table is: no part of a trace where
no gradient is kept."""

LYING = {"as_strided", "as_strided_copy"}
"""Functions that ask where in memory their arguments lie, and not only for their values."""

JOINING = {"cat", "stack"}
"""Functions that join many tensors at once where all values are there, as a batch is of what a program remembers."""

OTHERS = (
    "_", "record", "ones", "zeros", "empty", "full", "arange", "eye", "linspace", "is_", "set_", "get_", "manual_seed",
    "initial_seed", "from_", "as_tensor", "asarray", "tensor", "rand",
)  # fmt: skip
"""How the names of functions begin that are not recorded."""

DRAWING = {
    "alpha_dropout", "bernoulli", "bernoulli_", "binomial", "cauchy_", "dropout", "dropout1d", "dropout2d", "dropout3d",
    "exponential_", "feature_alpha_dropout", "fork_rng", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "geometric_", "gumbel_softmax", "log_normal_",
    "multi_head_attention_forward", "multinomial", "normal", "normal_", "poisson", "random_", "rrelu", "rrelu_",
    "scaled_dot_product_attention", "seed", "uniform_",
}  # fmt: skip
"""Functions that draw random numbers.  They do so at once, and what they do with them is recorded."""

ASKING = {"cholesky", "inv", "inverse", "solve"}
"""Functions that look whether what they have computed is there; the part that computes it is recorded by itself."""

WAITING = {"detach", "cpu"}
"""Functions that look first whether there is anything to record, or never have."""

QUIET = "_", "record", "is_", "set_", "get_", "manual_seed", "initial_seed", "seed", "fork_rng", "from_", "parse_"
"""How the names of functions begin that nobody is asked for who answers for functions."""

DUNDER = {"__hash__", "__pos__", "__init__", "__new__", "__repr__", "__init_subclass__"}


PUBLIC = {"sum_": "sum", "pow_": "pow", "round_": "round", "type_": "type", "view_as_shape": "view"}
"""What functions are called whose names are Python's own, or another function's, where they are defined."""


def wrapped(function: Any) -> Any:
    """`function`, recorded, with what is known of it."""
    name = function.__name__.strip("_")
    cuts = "all" if name in CUTTING else "integers" if name in SHAPING else "written" if name in PLACING else ""
    cuts = "many" if name in JOINING else cuts
    pure = cuts not in ("all", "integers") and name not in LYING
    made = recorded(function, NUMBERS.get(name, ()), cuts=cuts, pure=pure)
    made.__name__ = PUBLIC.get(function.__name__, function.__name__)
    home = getattr(sys.modules.get(function.__module__), "__dict__", {})
    if home.get(function.__name__) is function:
        home[function.__name__] = made  # for modules that are loaded later
    return made


def asked(function: Any) -> Any:
    """`function`, which is not recorded, asking whoever answers for functions."""
    made = asking(function)
    home = getattr(sys.modules.get(function.__module__), "__dict__", {})
    if home.get(function.__name__) is function:
        home[function.__name__] = made
    return made


def record_methods(*classes: type) -> None:
    """Record the functions in the bodies of these classes, and the properties that are views."""
    for cls in classes:
        for name, value in list(vars(cls).items()):
            named = name not in DUNDER | DRAWING | ASKING | WAITING and name[:4] != "new_"
            if isinstance(value, FunctionType) and named:
                setattr(cls, name, wrapped(value))
            elif isinstance(value, FunctionType) and name not in DUNDER | WAITING:
                setattr(cls, name, asking(value))
            elif isinstance(value, property) and name in ("T", "mT", "H", "mH", "real", "imag"):
                setattr(cls, name, property(wrapped(value.fget), value.fset, doc=value.__doc__))
        name_in(vars(cls), cls)
    name_tables()


def record_functions(namespace: dict[str, Any]) -> None:
    """Record the functions of a module that are defined in this package, under their names there.

    But for those that make others: `written`, and this.
    """
    here = __name__.rpartition(".tensor.")[0]
    for name, value in list(namespace.items()):
        home = value.__module__ or "" if isinstance(value, FunctionType) else ""
        ours = home.startswith(here) and not home.endswith((".face.results", ".calls.recording"))
        if ours and not name.startswith(OTHERS) and name not in DRAWING | ASKING:
            namespace[name] = wrapped(value)
        elif ours and not name.startswith(QUIET):
            namespace[name] = asked(value)
    name_in(namespace)
