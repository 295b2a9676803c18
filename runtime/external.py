"""Opaque Python within compiled functions: a simulator, a library, anything that cannot be traced.

    price = external(quantlib_price, result=float, vjp=quantlib_greeks)

    @grad
    def loss(x): return (price(x, 0.5) - target) ** 2

Compiled code hands copies of its arrays to the function, and takes what it returns. Its exceptions come out of the
compiled call. Calls happen in their order, in the thread of the call, under the interpreter's lock; equal calls may be
made once, and their number is no promise otherwise: the function should depend on nothing but its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend import tracing, tree
from ..compiler.frontend.array import Array, here
from ..compiler.frontend.errors import TraceError, message
from ..compiler.frontend.promotion import conform
from ..compiler.frontend.region import Leaf
from ..compiler.frontend.tracing import is_foreign, user_line
from ..compiler.ir.graph import Graph, Value
from ..compiler.ir.types import NAMES, Type, parse_type
from ..compiler.ops import custom
from ..compiler.ops import external as ops
from .compiled.byname import ByName, made_of
from .compiled.function import Function
from .compiled.tracebacks import boundary
from .custom import Call, apply, cotangents, defined, freeze_sizes, key_of, put
from .rules import Ruled, refuse_tensors

KEPT = 256
"""Kinds of calls of one function that are remembered."""


@boundary
def external(
    fn: Callable[..., Any] | None = None,
    result: Any = float,
    *,
    vjp: Callable[..., Any] | None = None,
    differences: bool = False,
    step: float | None = None,
) -> Any:
    """`fn` as a function that compiled code can call; or, without fn, a decorator.

    result        what it returns: float, int or bool; a dtype; a type such as "f64[3,2]"; an array like it; or a dict,
                  list or tuple of these; or a function of the arguments that gives one of them
    vjp           its pullback, as opaque as itself: vjp(cotangent, result, *args) is a cotangent for the argument, or
                  a tuple with one for each; None for zeros. One made by `external`, `custom_vjp` or `jit` is traced,
                  and has derivatives in its turn
    differences   its derivative is taken by central differences: two calls for each number in its arguments
    step          of these, relative where a number is above 1; by default the third root of the rounding error (6e-6)

    fn is handed NumPy arrays, scalars and Python floats, as the caller had them. What it returns is checked: a
    TypeError says what came and what was expected. Without vjp and differences its derivative is refused; with them the
    second one is, unless vjp has one. Named arguments are refused.

    >>> import math
    >>> gamma = external(math.gamma, float, differences=True)
    >>> round(grad(lambda x: gamma(x) ** 2)(2.0), 6)
    0.845569
    """
    if fn is None:
        return functools.partial(External, result=result, vjp=vjp, differences=differences, step=step)
    return External(fn, result, vjp, differences, step)


class External(ByName):
    """An opaque function that compiled code can call; see `external`."""

    def __init__(self, fn: Any, result: Any, vjp: Any, differences: bool, step: float | None) -> None:
        for name, each in (("fn", fn), ("vjp", vjp)):
            if not callable(each) and not (name == "vjp" and each is None):
                raise TypeError(f"external: {name} is of class {type(each).__name__}, expected a function")
        if vjp is not None and differences:
            raise TypeError("external takes a vjp or differences=True, not both")
        if step is not None and not 0 < step < 1:
            raise ValueError(f"external: step is {step!r}, expected a number between 0 and 1")
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.__qualname__ = getattr(fn, "__qualname__", self.__name__)
        self.__doc__ = getattr(fn, "__doc__", None)
        if isinstance(fn, FunctionType) and not is_foreign(fn.__code__.co_filename):
            self.__module__ = fn.__module__  # where a decorated one is found
        self.__wrapped__, self.result, self.vjp, self.differences, self.step = fn, result, vjp, differences, step
        self._made: dict[Any, Any] = {}
        if not _is_function(result):
            self._types(())
        made_of(self, fn, result, vjp, differences, step)

    def __repr__(self) -> str:
        return f"<external {self.__name__}>"

    @property
    def __reads__(self) -> tuple[Any, ...]:
        """What else is called: a traced vjp."""
        return () if self.vjp is None else (self.vjp,)

    def __call__(self, *args: Any) -> Any:
        now = tracing.current()
        if now is None:
            refuse_tensors(self.__name__, args)
            return self.__wrapped__(*args)
        freeze_sizes(f"a call of external {self.__name__}", args)
        name = self.__name__ if self.__name__.isidentifier() else "external"
        return apply(now, self, name, self._traced, self._rule, args)

    # ---- the call itself

    def _traced(self, *args: Any) -> Any:
        """The operation that calls the function."""
        signature, leaves = self._types(args)
        arrays, form = R.arrays_of(args), _form(args)

        def call(given: Sequence[np.ndarray]) -> list[np.ndarray]:
            returned = self.__wrapped__(*put(form, _handed(given, R.arrays_of(form))))
            return self._checked(returned, signature, leaves)

        made = self._emit("call", key_of(args), call, arrays, [leaf.type for leaf in leaves])
        return R.rebuild(signature, [Array(here(), v, leaf.weak) for v, leaf in zip(made, leaves, strict=True)])

    def _emit(self, what: str, key: Any, call: ops.Opaque, arrays: Sequence[Array], gives: Sequence[Type]) -> Any:
        """Call `call`, or what did the same for the same kind of arguments before."""
        now = here()
        values = [conform(now, x, x.dtype, x.value.type.shape) for x in arrays]
        number = self._made.get((what, key))
        if number is None:
            while len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            function = ops.Function(self.__name__, call, [v.type for v in values], gives)
            number = self._made[what, key] = ops.numbered(function)
        now.builder.where = user_line()
        return now.builder.emit(ops.external, *values, name=self.__name__, number=number, types=tuple(gives))

    def _types(self, args: Sequence[Any]) -> tuple[tree.Signature, list[Leaf]]:
        """What the function returns for these arguments."""
        spec = self.result
        if _is_function(spec):
            spec = spec(*args)
        leaves: list[Leaf] = []
        signature = R.flatten(R.mapped(spec, lambda x: _example(self.__name__, x, leaves)), [], "result")
        return signature, leaves

    def _checked(self, returned: Any, signature: tree.Signature, leaves: Sequence[Leaf]) -> list[np.ndarray]:
        """The arrays in what the function has returned."""
        found: list[Any] = []
        try:
            theirs = R.flatten(returned, found, f"the result of external {self.__name__}", signature)
        except TraceError as error:
            raise TypeError(str(error)) from None
        differs = R.difference(signature, theirs, "")
        if differs is not None:
            path, wanted, given = differs
            raise TypeError(f"external {self.__name__} returned {given}{R.at(path)}, expected {wanted}")
        for path, x, leaf in zip(R.paths(signature), found, leaves, strict=True):
            given = R.leaf_of(x)
            if R.joined(Leaf(leaf.type, False), given) is None:
                raise TypeError(f"external {self.__name__} returned {given}{R.at(path)}, expected {leaf}")
        return [np.asarray(x, leaf.type.numpy) for x, leaf in zip(found, leaves, strict=True)]

    # ---- its derivative

    def _rule(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> Sequence[Any]:
        if isinstance(self.vjp, (External, Ruled, Function)):
            made = self.vjp(call.returned(cts), call.returned(results), *call.given(arrays))
            return self._cotangents(call, made)
        if self.vjp is None and not self.differences:
            made_of = [x.value for x in (*arrays, *results, *cts) if isinstance(x, Array)]
            return [_refused(self.__name__, arrays[k], made_of) for k in call.floats]
        form = replace(call, args=_form(call.args), value=replace(call.value, graph=Graph("", (), (), ()), extras=()))
        form = replace(form, arrays=tuple(R.arrays_of(form.args)))
        outs, pull = call.value.leaves, self._differenced if self.differences else self._pulled

        def back(given: Sequence[np.ndarray]) -> list[np.ndarray]:
            n, seeds = len(form.arrays), iter(given[len(form.arrays) + len(outs) :])
            cotangents = [next(seeds)[()] if leaf.type.is_float else 0.0 for leaf in outs]
            return pull(form, given[:n], _handed(given[n : n + len(outs)], outs), cotangents)

        given = [*arrays, *results, *[ct for ct, leaf in zip(cts, outs, strict=True) if leaf.type.is_float]]
        gives = [arrays[k].value.type for k in call.floats]
        return [Array(here(), v) for v in self._emit("vjp", key_of(call.args), back, given, gives)]

    def _pulled(self, call: Call, given: Sequence[np.ndarray], results: Any, cts: Any) -> list[np.ndarray]:
        """The cotangents that the user's function gives."""
        assert self.vjp is not None
        arguments = call.given(_handed(given, call.arrays))
        made = self._cotangents(call, self.vjp(call.returned(cts), call.returned(results), *arguments))
        return [_like(given[k], c) for k, c in zip(call.floats, made, strict=True)]

    def _cotangents(self, call: Call, made: Any) -> list[Any]:
        count = len(call.args)
        if not isinstance(made, (tuple, list)) and count == 1:
            made = (made,)
        if not isinstance(made, (tuple, list)) or len(made) != count:
            what = f"{len(made)} cotangents" if isinstance(made, (tuple, list)) else f"a {type(made).__name__}"
            verdict = f"vjp of external {call.name} returns {what} for {count} arguments"
            raise TraceError(message(verdict, defined(self.vjp), "return a tuple with one for each argument"))
        return cotangents(call, [f"argument {k}" for k in range(count)], made, defined(self.vjp))

    def _differenced(self, call: Call, given: Sequence[np.ndarray], results: Any, cts: Any) -> list[np.ndarray]:
        """Sums of central differences with the cotangents, number by number."""
        signature, leaves = call.value.signature, call.value.leaves
        arrays = [np.array(a) for a in given]

        def total() -> float:
            """The products of what the function returns with the cotangents."""
            held = _handed([np.array(a) for a in arrays], call.arrays)
            made = self._checked(self.__wrapped__(*call.given(held)), signature, leaves)
            return sum(float(np.sum(ct * m)) for ct, m, t in zip(cts, made, leaves, strict=True) if t.type.is_float)

        gradients = []
        for k in call.floats:
            x, slopes = arrays[k], np.zeros_like(arrays[k])
            relative = self.step or float(np.finfo(x.dtype).eps) ** (1 / 3)
            for place in np.ndindex(x.shape):
                middle = x[place].copy()
                h = relative * max(1.0, abs(float(middle)))
                x[place] = middle + h
                high, above = float(x[place]), total()
                x[place] = middle - h
                low, below = float(x[place]), total()
                x[place] = middle
                slopes[place] = (above - below) / (high - low)
            gradients.append(slopes)
        return gradients


# ---- parts

_NOWHERE = tracing.Tracing("external")


def _form(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with arrays that belong to no trace, so that remembering them keeps none alive."""
    return R.mapped(args, lambda x: Array(_NOWHERE, Value(x.value.type), x.weak) if isinstance(x, Array) else x)


def _handed(given: Sequence[np.ndarray], like: Sequence[Any]) -> list[Any]:
    """Arrays as the function is to have them: numbers as Python's where they stand for such."""
    return [a if a.shape else a.item() if x.weak else a[()] for a, x in zip(given, like, strict=True)]


def _like(x: np.ndarray, ct: Any) -> np.ndarray:
    return np.zeros_like(x) if ct is None else np.asarray(ct, x.dtype)


def _refused(name: str, x: Array, made_of: Sequence[Value]) -> Array:
    """The cotangent that nobody has given, of what it would be made of."""
    fix = "give it vjp= or differences=True, or use stop_gradient"
    text = message(f"external {name} is differentiated, but has no derivative", user_line(), fix)
    return Array(here(), custom.refused.of(here().builder, x.value.type, text, made_of))


_KINDS: dict[Any, Leaf] = {
    float: Leaf(Type("f64"), True),
    int: Leaf(Type("i64"), True),
    bool: Leaf(Type("bool"), False),
}


def _is_function(spec: Any) -> bool:
    """Whether what a function returns depends on its arguments."""
    return callable(spec) and not isinstance(spec, type) and not hasattr(spec, "dtype")


def _example(name: str, x: Any, leaves: list[Leaf]) -> Any:
    """Something for a leaf of what a function is said to return; its type is appended."""
    if x is None:
        return None
    try:
        if isinstance(x, type) and x in _KINDS:
            leaves.append(_KINDS[x])
        elif isinstance(x, str) and "[" in x:
            leaves.append(Leaf(parse_type(x), False))
        elif not isinstance(x, (str, type)) and hasattr(x, "shape") and hasattr(x, "dtype"):
            leaves.append(Leaf(Type(NAMES[np.dtype(x.dtype)], tuple(x.shape)), False))
        else:
            leaves.append(Leaf(Type(NAMES[np.dtype(x)]), False))
    except (TypeError, ValueError, KeyError):
        fix = 'say float, int, bool, a dtype, "f64[3,2]" or an array like it, or a tree of these'
        raise TypeError(f"external {name}: its result is said to be {x!r:.60}: {fix}") from None
    return np.float64(0)


__all__ = ["External", "external"]
