"""torch and jax, if they are installed: one thread each, float64 where asked for."""

from __future__ import annotations

import importlib
import os
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def optional(name: str) -> Any:
    """The package, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, jax = optional("torch"), optional("jax")
if torch is not None:
    torch.set_num_threads(1)
if jax is not None:
    jax.config.update("jax_enable_x64", True)
