"""What a traced function is handed: a value of its graph with NumPy's operators, methods and attributes.

An `Array` knows its value and whether it stands for a Python number, which is weak in promotion. What its operators and
methods mean is registered by the modules beside this one, by NumPy's own names:

    FUNCTIONS[np.sum] = sum_       UFUNCS["add"] = ...       x.sum() is FUNCTIONS[np.sum](x)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..ir.containers import SEQUENCES
from ..ir.graph import Value
from ..ir.types import Type
from ..ops.complex.complexes import imag, real
from . import tracing
from .errors import TraceError, TraceValueError, UnknownFunction, message
from .operators import binary, has_complex, inplace, operand, times, times_behind, unary
from .patched.askers import BY_ELEMENT, OTHERWISE, instead, spelled
from .refusals import Refusals, leaked
from .sizes import HOOKS, Length, product
from .tracing import Tracing, user_line

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy function -> its meaning on traced arrays."""

HOOKS["knows"] = FUNCTIONS.__contains__


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the meaning of NumPy functions."""

    def register(meaning: Callable[..., Any]) -> Callable[..., Any]:
        for each in functions:
            FUNCTIONS[each] = meaning
        return meaning

    return register


def _method(function: Any) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: call(function, FUNCTIONS[function], (self, *args), kwargs)


class Array(Refusals):
    """A traced stand-in for an ndarray, a NumPy scalar or a Python number."""

    __slots__ = ("tracing", "value", "weak", "shared", "__weakref__")
    __array_priority__ = 1000
    __pandas_priority__ = 5000

    def __init__(self, tracing: Tracing, value: Value, weak: bool = False, shared: bool = False) -> None:
        self.tracing, self.value, self.weak, self.shared = tracing, value, weak, shared

    def __hash__(self) -> int:
        """That of its number: sets and dicts then find it. Arrays have none, as in NumPy."""
        if self.value.type.shape:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self.number("hash()", "take the value out of the set or dict with np.where").item())

    # ---- attributes

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def shape(self) -> tuple[Any, ...]:
        """Numbers, and lengths where a dimension is known by name."""
        shape, sizes = self.value.type.shape, self.tracing.sizes
        if sizes is None:
            return shape
        return tuple([n if isinstance(n, int) else Length(n, sizes) for n in shape])

    @property
    def dtype(self) -> np.dtype:
        return self.value.type.numpy

    @property
    def ndim(self) -> int:
        return self.value.type.rank

    @property
    def size(self) -> Any:
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def T(self) -> Array:
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> Array:
        return FUNCTIONS[np.matrix_transpose](self)

    @property
    def parts(self) -> tuple[Array, Array]:
        """The real and the imaginary parts of complex numbers, in the trace that the array belongs to."""
        now = self.tracing
        return tuple([Array(now, now.emit(each, self.value), self.weak) for each in (real, imag)])  # type: ignore

    @property
    def real(self) -> Array:
        return FUNCTIONS[np.real](self)

    @property
    def imag(self) -> Array:
        return FUNCTIONS[np.imag](self)

    @property
    def flat(self) -> Iterator[Array]:
        return iter(self.ravel())

    @property
    def device(self) -> str:
        return "cpu"

    def __len__(self) -> int:
        here(self)
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0].__index__()

    def __repr__(self) -> str:
        dead = "" if tracing.encloses(self.tracing) else ", which has returned: it has no number"
        return f"Array({self.type}, traced in {self.tracing.name!r}{dead})"

    def __str__(self) -> str:
        return self.text("")

    def __format__(self, spec: str) -> str:
        return self.text(spec)

    # ---- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return HOOKS["apply"](ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        meaning = FUNCTIONS.get(function)
        if meaning is None:
            raise unknown(name_of(function))
        return call(function, meaning, args, kwargs)

    def __getitem__(self, key: Any) -> Array:
        return HOOKS["index"](self, key)

    def __iter__(self) -> Iterator[Array]:
        here(self)
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    # ---- operators

    __add__, __radd__ = binary("add")
    __sub__, __rsub__ = binary("subtract")
    __mul__, __rmul__ = times, times_behind
    __truediv__, __rtruediv__ = binary("true_divide")
    __floordiv__, __rfloordiv__ = binary("floor_divide")
    __mod__, __rmod__ = binary("remainder")
    __pow__, __rpow__ = binary("power")
    __and__, __rand__ = binary("bitwise_and")
    __or__, __ror__ = binary("bitwise_or")
    __xor__, __rxor__ = binary("bitwise_xor")
    __lshift__, __rlshift__ = binary("left_shift")
    __rshift__, __rrshift__ = binary("right_shift")
    __lt__, __gt__ = binary("less")[0], binary("greater")[0]
    __le__, __ge__ = binary("less_equal")[0], binary("greater_equal")[0]
    __eq__, __ne__ = binary("equal")[0], binary("not_equal")[0]
    __neg__, __pos__ = unary("negative"), unary("positive")
    __abs__, __invert__ = unary("absolute"), unary("invert")
    __iadd__, __isub__ = inplace("add"), inplace("subtract")
    __imul__, __itruediv__ = inplace("multiply"), inplace("true_divide")
    __ifloordiv__, __imod__, __ipow__ = inplace("floor_divide"), inplace("remainder"), inplace("power")
    __iand__, __ior__, __ixor__ = inplace("bitwise_and"), inplace("bitwise_or"), inplace("bitwise_xor")
    __ilshift__, __irshift__ = inplace("left_shift"), inplace("right_shift")

    def __matmul__(self, other: Any) -> Any:
        return FUNCTIONS[np.matmul](self, other) if operand(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return FUNCTIONS[np.matmul](other, self) if operand(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return HOOKS["operate"](np.divmod, self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return HOOKS["operate"](np.divmod, other, self)

    def __round__(self, digits: int = 0) -> Any:
        return FUNCTIONS[np.round](self, digits)

    def _update(self, ufunc: np.ufunc, other: Any) -> Array:
        """NumPy's in-place operators: every name of this array sees the new value, views would not."""
        fix = "write x = x + y in place of x += y"
        self.overwrite(HOOKS["operate"](ufunc, self, other), f"in-place {ufunc.__name__}", fix)
        return self

    def overwrite(self, made: Array, what: str, fix: str) -> None:
        """Let every name of this array see a new value."""
        if self.shared or self.tracing is not tracing.current():
            verdict = f"{what} on an array that the caller or a view shares"
            raise TraceError(message(verdict, user_line(), fix, array=self.type))
        if made.shape != self.shape or not np.can_cast(made.dtype, self.dtype, "same_kind"):
            verdict = f"{what} cannot put {made.type} into {self.type}"
            raise TraceValueError(message(verdict, user_line(), fix))
        self.value = made.astype(self.dtype).value

    # ---- methods

    sum, mean, prod = _method(np.sum), _method(np.mean), _method(np.prod)
    max, min, ptp = _method(np.max), _method(np.min), _method(np.ptp)
    argmax, argmin = _method(np.argmax), _method(np.argmin)
    std, var, any, all = _method(np.std), _method(np.var), _method(np.any), _method(np.all)
    cumsum, cumprod = _method(np.cumsum), _method(np.cumprod)
    clip, round = _method(np.clip), _method(np.round)
    dot, trace, diagonal = _method(np.dot), _method(np.trace), _method(np.diagonal)
    ravel, squeeze, swapaxes = _method(np.ravel), _method(np.squeeze), _method(np.swapaxes)
    repeat, take = _method(np.repeat), _method(np.take)
    copy, astype = _method(np.copy), _method("astype")
    sort, argsort, cumprod = _method("sort"), _method(np.argsort), _method(np.cumprod)
    partition, argpartition = _method("partition"), _method(np.argpartition)
    searchsorted, nonzero = _method(np.searchsorted), _method(np.nonzero)
    compress, choose, put, fill = _method("compress"), _method(np.choose), _method(np.put), _method("fill")

    def flatten(self, order: str = "C") -> Array:
        return self.copy().ravel(order)

    def reshape(self, *shape: Any, order: str = "C") -> Array:
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, Length)) else shape
        return FUNCTIONS[np.reshape](self, wanted, order=order)

    def transpose(self, *axes: Any) -> Array:
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return FUNCTIONS[np.transpose](self, given or None)

    def item(self, *place: Any) -> Array:
        """One element, which stays a traced number."""
        here(self)
        at = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
        if not at and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        found = (self.ravel()[at[0]] if len(at) == 1 else self[at]) if at else self.reshape(())
        return Array(found.tracing, found.value, True)

    def view(self, dtype: Any = None) -> Array:
        """The same array; its bits as those of another dtype are refused."""
        if dtype is not None and np.dtype(dtype) != self.dtype:
            raise unknown("ndarray.view", f" of {self.type} as {np.dtype(dtype)}")
        return self[...]

    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        if device != "cpu":
            raise ValueError(f'Unsupported device "{device}"; only "cpu" is accepted.')
        return self

    def tolist(self) -> Any:
        """Lists of traced numbers."""
        return [row.tolist() for row in self] if self.shape else self.item()

    def __floor__(self) -> Any:
        return self.rounded("math.floor()", np.floor)

    def __ceil__(self) -> Any:
        return self.rounded("math.ceil()", np.ceil)

    def __trunc__(self) -> Any:
        return self.rounded("math.trunc()", np.trunc)

    def rounded(self, what: str, rounding: np.ufunc) -> Any:
        """The integer that Python's math module makes of a number, for the values of one call."""
        if self.dtype.kind in "iu":
            return self
        return int(HOOKS["operate"](rounding, self).number(what, "use NumPy's functions in place of math's"))

    def conj(self) -> Array:
        return HOOKS["apply"](np.conjugate, "__call__", (self,), {}) if self.type.is_complex else self

    conjugate = conj


def name_of(function: Any) -> str:
    """A NumPy function's name as users write it."""
    if isinstance(function, str):
        return f"ndarray.{function}"
    return spelled(getattr(function, "__module__", None) or "numpy", getattr(function, "__name__", str(function)))


def unknown(name: str, detail: str = "") -> UnknownFunction:
    """The error for a function that is not known here."""
    verdict = f"{name}{detail} is not supported in a traced function"
    fix = BY_ELEMENT if instead(name) == BY_ELEMENT else OTHERWISE
    return UnknownFunction(message(verdict, user_line(), fix))


def call(function: Any, meaning: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a meaning; arguments that it does not take are refused by name, and what is for out= is put there."""
    target = kwargs.get("out")
    if has_complex(args) or has_complex(kwargs.values()):
        meaning = HOOKS["of_complex"](function, meaning)
    try:
        if "out" in kwargs:
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        made = meaning(*args, **kwargs)
        return made if target is None else HOOKS["stored"](target, made, True, name_of(function))
    except TypeError as error:
        if isinstance(error, TraceError) or f"{meaning.__name__}()" not in str(error):
            raise
        detail = str(error).partition("() ")[2]
        raise unknown(name_of(function), f" called this way ({detail})") from None


def find(trees: Any) -> Array | None:
    """Some Array among nested sequences."""
    pending = [trees]
    while pending:
        each = pending.pop()
        if isinstance(each, Array):
            return each
        if isinstance(each, SEQUENCES):
            pending.extend(each)
    return None


def here(*operands: Any) -> Tracing:
    """The function being traced now; an error if the operands' own has ended."""
    now = tracing.current()
    for each in operands:
        if isinstance(each, Array) and not (each.tracing is now or tracing.encloses(each.tracing)):
            raise leaked(each)
    if now is None:
        raise RuntimeError("no function is being traced")
    return now


def value_of(now: Tracing, array: Array) -> Value:
    """The value of an Array in the function being traced now."""
    return array.value if array.tracing is now else now.outer(array)
