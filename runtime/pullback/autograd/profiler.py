"""Blocks in which nothing is measured; see pullback.runtime.programs.profiling."""

from pullback.runtime.programs.profiling import EventList as EventList
from pullback.runtime.programs.profiling import emit_itt as emit_itt
from pullback.runtime.programs.profiling import emit_nvtx as emit_nvtx
from pullback.runtime.programs.profiling import older_profile as profile  # noqa: F401
from pullback.runtime.programs.profiling import record_function as record_function
from pullback.runtime.programs.refused import autograd_profiler as __getattr__  # noqa: F401
