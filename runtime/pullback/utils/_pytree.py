"""Nested containers as lists of their leaves; see pullback.runtime.programs.pytrees."""

from pullback.runtime.programs.inside.keyed_trees import *  # noqa: F403
from pullback.runtime.programs.pytrees import *  # noqa: F403
from pullback.runtime.programs.pytrees import KNOWN as SUPPORTED_NODES  # noqa: F401
from pullback.runtime.programs.pytrees import (  # noqa: F401
    kind_of as _get_node_type,
)
from pullback.runtime.programs.pytrees import register_pytree_node as _register_pytree_node  # noqa: F401
