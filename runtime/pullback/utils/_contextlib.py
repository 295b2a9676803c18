"""Blocks that are decorators, too."""

from pullback.runtime.tensor.reverse.modes import _Switch as _DecoratorContextManager  # noqa: F401
