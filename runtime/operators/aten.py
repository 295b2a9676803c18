"""`torch.ops.aten`: this package's functions under the names of PyTorch's operators.

A name is one of a function of the package, of a method of tensors, or of a submodule behind its prefix
(`linalg_inv`, `fft_rfft`, `special_erf`). PyTorch's overloads differ in the kinds of their arguments, which the
functions here tell apart by themselves: any overload is the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nn import functional
from ..tensor.face import (
    complex_functions,
    fourier_functions,
    functions,
    linalg_functions,
    older_names,
    special_functions,
)
from ..tensor.face.tensor import Tensor

PREFIXES = {"linalg_": linalg_functions, "fft_": fourier_functions, "special_": special_functions}
SAME = (
    "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu linear mish pad pixel_shuffle"
    " pixel_unshuffle prelu relu6 rrelu scaled_dot_product_attention selu silu softplus softshrink threshold"
    " avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d max_pool1d max_pool2d max_pool3d"
    " conv3d layer_norm group_norm rms_norm one_hot cosine_similarity pdist pairwise_distance bilinear"
)
"""Functions of nn.functional whose operators take the same arguments in the same order."""

OVERLOADS = (
    "default Tensor Scalar out int dim dim_IntList Tensor_Tensor Tensor_Scalar Scalar_Tensor self other ScalarOther"
    " ScalarSelf dimname Tensor_out Scalar_out correction low start step start_step sizes indices sections"
    " Tensor_mode Scalar_mode value src dtype deterministic memory_format keepdim p"
)
OUR_OWN = "manual_seed seed initial_seed set_default_dtype set_printoptions is_tensor typename"


def _sliced(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Part of an axis."""
    whole = (slice(None),) * (dim % self.dim())
    return self[(*whole, slice(start, end, step))]


def _function(name: str) -> Callable[..., Any] | None:
    for prefix, module in PREFIXES.items():
        if name.startswith(prefix) and name.removeprefix(prefix) in module.__all__:
            return getattr(module, name.removeprefix(prefix))
    if name == "slice":
        return _sliced
    if name in SAME.split():
        return getattr(functional, name)
    for module in (functions, complex_functions, special_functions, older_names):
        if name in vars(module) and not name.startswith("_") and name not in OUR_OWN.split():
            found = getattr(module, name)
            return found if callable(found) and not isinstance(found, type) else None
    method = getattr(Tensor, name, None) if not name.startswith("_") else None
    return method if callable(method) else None


def packet(name: str) -> Any:
    """The operator of a name; None if there is none here."""
    function = _function(name)
    return None if function is None else _Aten(name, None, function)


class _Aten:
    """An operator of PyTorch's: a function of this package."""

    namespace = "aten"

    def __init__(self, name: str, overload: str | None, function: Callable[..., Any]) -> None:
        self.__name__, self._overload, self._function = name, overload, function
        self.__doc__ = function.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if self._overload is not None or name not in OVERLOADS.split():
            raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{name}'")
        return _Aten(self.__name__, name, self._function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Aten) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str | None]:
        return self.__name__, self._overload

    def overloads(self) -> list[str]:
        """The one that all stand for."""
        return ["default"]

    def name(self) -> str:
        """`aten::sin`, with the overload's name if it has one."""
        return f"aten::{self.__name__}" + (f".{self._overload}" if self._overload not in (None, "default") else "")

    def __str__(self) -> str:
        return f"aten.{self.__name__}" + (f".{self._overload}" if self._overload else "")

    def __repr__(self) -> str:
        if self._overload is None:
            return f"<OpOverloadPacket(op='aten.{self.__name__}')>"
        return f"<OpOverload(op='aten.{self.__name__}', overload='{self._overload}')>"
