"""pullback: gradients of plain Python, compiled to native code.

This module is the face and nothing else. A name is loaded from where it is written when it is first
used, so that importing the package costs a millisecond. The same names stand here three times,
because type checkers read only the first two: tests/test_packaging.py compares them.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pullback.runtime import nn, optim
    from pullback.runtime.build import build
    from pullback.runtime.creation import (
        arange,
        as_tensor,
        eye,
        from_numpy,
        full,
        full_like,
        linspace,
        manual_seed,
        ones,
        ones_like,
        rand,
        randn,
        tensor,
        zeros,
        zeros_like,
    )
    from pullback.runtime.dtypes import bool_, float32, float64, int32, int64
    from pullback.runtime.modes import enable_grad, is_grad_enabled, no_grad
    from pullback.runtime.symbols import lambdify
    from pullback.runtime.tensor import Tensor
    from pullback.runtime.transforms import check, grad, hessian, hvp, jit, value_and_grad, vjp

__all__ = [
    "Tensor",
    "arange",
    "as_tensor",
    "bool_",
    "build",
    "check",
    "enable_grad",
    "eye",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "full_like",
    "grad",
    "hessian",
    "hvp",
    "int32",
    "int64",
    "is_grad_enabled",
    "jit",
    "lambdify",
    "linspace",
    "manual_seed",
    "nn",
    "no_grad",
    "ones",
    "ones_like",
    "optim",
    "rand",
    "randn",
    "tensor",
    "value_and_grad",
    "vjp",
    "zeros",
    "zeros_like",
]

if not TYPE_CHECKING:  # a module with __getattr__ has every name, to a type checker
    _NAMES_OF = {
        "runtime": "nn optim",
        "runtime.build": "build",
        "runtime.creation": "arange as_tensor eye from_numpy full full_like linspace manual_seed"
        " ones ones_like rand randn tensor zeros zeros_like",
        "runtime.dtypes": "bool_ float32 float64 int32 int64",
        "runtime.modes": "enable_grad is_grad_enabled no_grad",
        "runtime.symbols": "lambdify",
        "runtime.tensor": "Tensor",
        "runtime.transforms": "check grad hessian hvp jit value_and_grad vjp",
    }
    _WHERE = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        where = f"{__name__}.{_WHERE[name]}"
        if _WHERE[name] == "runtime":
            value = import_module(f"{where}.{name}")
        else:
            value = getattr(import_module(where), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
