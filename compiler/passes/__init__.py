"""Passes: functions from graph to graph, valid in, valid out, meaning kept (adjoint excepted).

This floor knows the primitives and graphs; it does not know loops, memory or machines. Here is what every gradient
needs; what is done to a graph before it is lowered is the `pipeline`.
"""

from .adjoint import adjoint, value_and_grad
from .cleanup import common, dead

__all__ = ["adjoint", "common", "dead", "value_and_grad"]
