"""Signals; see pullback.runtime.tensor.tapers."""

from pullback.signal import windows as windows
