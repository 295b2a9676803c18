"""Packages that may be there or not, loaded when something of theirs is asked for."""

from __future__ import annotations

from typing import Any


def torch() -> Any:
    """PyTorch; an ImportError says how to get it."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
        import torch.utils._pytree  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise _missing("torch", error) from None
    return torch


def torch_compiler() -> Any:
    """The part of PyTorch that reads Python; it takes a second to load."""
    import torch._dynamo  # pyright: ignore[reportMissingImports]

    return torch._dynamo


def jax() -> Any:
    """JAX, with the parts for those who add operations to it; an ImportError says how to get it."""
    try:
        import jax  # pyright: ignore[reportMissingImports]
        import jax.extend.core  # pyright: ignore[reportMissingImports]
        import jax.ffi  # pyright: ignore[reportMissingImports]
        import jax.interpreters.ad  # pyright: ignore[reportMissingImports]
        import jax.interpreters.batching  # pyright: ignore[reportMissingImports]
        import jax.interpreters.mlir  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise _missing("jax", error) from None
    return jax


def quasi_monte_carlo() -> Any:
    """SciPy's points that fill a cube evenly; an ImportError says how to get it."""
    try:
        from scipy.stats import qmc
    except ModuleNotFoundError as error:
        raise _missing("scipy", error) from None
    return qmc


def _missing(name: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    if (error.name or name).partition(".")[0] != name:
        return error
    return ModuleNotFoundError(f"this needs {name}, which is not installed: pip install {name}", name=name)


__all__ = ["jax", "quasi_monte_carlo", "torch", "torch_compiler"]
