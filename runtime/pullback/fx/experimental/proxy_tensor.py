"""Tracing by tensors that record; see pullback.runtime.programs.inner."""

from pullback.runtime.programs.inner import get_proxy_mode  # noqa: F401
