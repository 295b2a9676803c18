"""What takes a hook away again; see pullback.runtime.tensor.reverse.hooks."""

from pullback.runtime.tensor.reverse.hooks import RemovableHandle as RemovableHandle
