"""Signals; see pullback.runtime.tensor.ops.windows.tapers."""

from pullback import _signal as _loaded  # noqa: F401
from pullback.signal import windows as windows
