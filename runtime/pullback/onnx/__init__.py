"""Exports, which are refused; see pullback.runtime.programs.reasons."""

from pullback import _onnx as _loaded  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_in_onnx_export  # noqa: F401
from pullback.runtime.programs.refused import onnx as __getattr__  # noqa: F401
