"""Layers that learn their sizes, under their older path."""

from pullback.runtime.nn.layers.lazy import UninitializedBuffer as UninitializedBuffer
from pullback.runtime.nn.layers.lazy import UninitializedParameter as UninitializedParameter
from pullback.runtime.nn.layers.lazy import _Lazy as LazyModuleMixin  # noqa: F401
