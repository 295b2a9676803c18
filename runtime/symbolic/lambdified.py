"""SymPy expressions as compiled functions: lambdify, with SymPy's call forms.

    f = lambdify([x, theta(t), A], A * Matrix([x, theta(t)]))
    f(1.0, 2.0, np.eye(2)); jacobian(f); f.ir(); f.sympy()
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from ...compiler.backend import process
from ...compiler.frontend import tracing
from ...compiler.frontend.array import Array, here
from ...compiler.frontend.promotion import result_dtype, shape_of
from ...compiler.frontend.sizes import broadcast_shapes
from ...compiler.ir.types import NAMES, Type
from ...compiler.ops.expression import UnknownFunction
from ...compiler.ops.source import number as constant
from ...compiler.ops.term import Term
from ..compiled.byname import made_of
from ..compiled.derive import Jit
from ..compiled.function import Function
from ..compiled.tracebacks import boundary
from .formulas.algebras import ArrayAlgebra, RealAlgebra
from .formulas.alike import FEWEST, Group, groups_of
from .formulas.arguments import ArgumentSlot, ArrayElement, Bound, bind, keys_of, names_of, sizes_of, slots_of
from .formulas.reading import ExpressionReader
from .formulas.stable import stabilized
from .formulas.vectorized import read_elements
from .results import results_of

MODULES = ("math", "numpy", "scipy", "numexpr", "cupy", "jax", "torch", "tensorflow", "cmath")
"""What SymPy computes in floats by: all mean the same here, but the last, whose floats are complex."""

EXACT = ("mpmath", "sympy")


class Expression(Function):
    """A compiled SymPy expression; pickles hold the expression."""

    def __init__(self, args: Any, expr: Any, functions: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        with process.uncollected():
            function = _function(args, expr, functions, options)
        super().__init__(function, Jit())
        self.rewrites: tuple[tuple[Any, Any], ...] = self.__wrapped__.rewrites  # type: ignore[attr-defined]
        made_of(self, args, expr, functions, options)


@boundary
def lambdify(
    args: Any,
    expr: Any,
    modules: Any = None,
    printer: Any = None,
    use_imps: bool = True,
    dummify: bool = False,
    cse: Any = False,
    docstring_limit: int | None = 1000,
    *,
    dtype: Any = None,
    quadrature: bool = False,
    stable: bool = False,
) -> Callable[..., Any]:
    """A compiled function of SymPy symbols: `grad`, `jit` and `ir` take it like any other.

    args         a symbol, or a sequence of them: the arguments in order. Also applied functions such as theta(t) and
                 their derivatives, MatrixSymbol and IndexedBase for arrays, and lists and matrices of all of these,
                 which are then one argument each; "x, y" and ["x", "y"] are what the expression has of these names
    expr         an expression, a matrix, or nested lists, tuples and dicts of them
    modules      a dict of names of functions without a formula and what computes them, which may be traced Python, and
                 of symbols and constants and the numbers they are; or a list of such. The names of NumPy, SciPy and
                 others are taken, and change nothing but "cmath", which asks for complex numbers
    use_imps     whether functions of `implemented_function` are called
    dtype        complex, where numbers may be complex: then I and conjugates are computed with
    quadrature   compute definite integrals that SymPy does not solve by quadrature, at numbers
    stable       compute with forms that keep their digits: 1 - cos(x) as 2 sin(x/2)^2, log(1 + exp(x)) as it is;
                 `rewrites` of the function has the pairs of what was replaced by what
    printer, dummify, cse, docstring_limit   are taken for SymPy's sake: no source is printed, symbols are known by what
                 they are, and what is shared is always computed once

    The function takes floats, or arrays element by element, which are batches of matrices, too: (r, c, ...) comes of a
    matrix of r rows and c columns. It is real unless asked otherwise: where SymPy's value is complex, it is NaN. A Sum
    or Product with an argument for a bound is a loop, one without end its closed form, NaN where that does not hold.
    TypeError names the part that cannot be computed.

    >>> from sympy.abc import x
    >>> lambdify(x, x**2 + 1)(3.0)
    10.0
    """
    if printer is not None:
        raise TypeError(f"lambdify: printer is {printer!r:.60}, and no source is printed: leave it out")
    if docstring_limit is not None and not isinstance(docstring_limit, int):
        raise TypeError(f"lambdify: docstring_limit is {docstring_limit!r:.60}, expected an int or None")
    given = list(modules) if isinstance(modules, (list, tuple)) else [] if modules is None else [modules]
    functions = _functions(given)
    asks = any(getattr(each, "__name__", each) == "cmath" for each in given if not isinstance(each, Mapping))
    complex_ = asks or any(isinstance(each, complex) for each in functions.values())
    options = {
        "use_imps": bool(use_imps), "complex": complex_ if dtype is None else _is_complex(dtype),
        "quadrature": bool(quadrature), "stable": bool(stable),
    }  # fmt: skip
    return Expression(args, expr, functions, options)


def _is_complex(dtype: Any) -> bool:
    found = np.dtype(dtype)
    if found.kind not in "fc":
        raise TypeError(f"lambdify: dtype is {dtype!r:.60}, expected float or complex")
    return found.kind == "c"


def _functions(given: list[Any]) -> dict[str, Any]:
    """The functions and numbers by name that `modules` brings; the first that has a name gives it, as in SymPy."""
    made: dict[str, Any] = {}
    for each in reversed(given):
        if isinstance(each, Mapping):
            for name, function in each.items():
                if not callable(function) and not isinstance(function, (int, float, complex)):
                    verdict = f"lambdify: modules has {function!r:.60} for {name!r}"
                    raise TypeError(f"{verdict}, expected a function, or the number that a symbol is")
            made |= each
        elif isinstance(each, str) and each in EXACT:
            fix = "lambdify of SymPy computes with many digits"
            raise ValueError(f"lambdify: modules is {each!r}, and a compiled function computes in floats: {fix}")
        elif not (isinstance(each, ModuleType) or each in MODULES):
            known = ", ".join(MODULES)
            raise TypeError(f"lambdify: modules has {each!r:.60}, expected a dict of functions, or one of {known}")
    return made


def _function(args: Any, expr: Any, functions: Mapping[str, Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """The Python function that is traced."""
    leaves, paths, make = results_of(expr)
    slots = slots_of(args, leaves)
    rewrites: list[tuple[Any, Any]] = []
    if options["stable"]:
        made = [stabilized(leaf) for leaf in leaves]
        leaves = [leaf for leaf, _ in made]
        rewrites = list(dict.fromkeys(pair for _, pairs in made for pair in pairs))
    reader = ExpressionReader(functions, options["use_imps"], options["complex"], options["quadrature"], leaves)
    keys = [key for slot in slots for key in keys_of(slot)]
    reader.sizes = set(sizes_of(slots))
    groups: list[Group] = []
    if len(leaves) >= FEWEST and not options["complex"]:
        groups = groups_of(leaves, {key: k for k, key in enumerate(keys)}, reader.uses(), sort=False)
    _check(reader, leaves, paths, keys)

    def function(*given: Any) -> Any:
        if tracing.current() is None:
            return alone(*given)
        return make(_emitted(reader, leaves, groups, slots, given))

    names = names_of(slots)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = "expression"
    function.__doc__ = f"A SymPy expression in {', '.join(names)}."
    if all(slot.form == "number" for slot in slots):
        function.symbols = tuple(keys)  # type: ignore[attr-defined]
    function.rewrites = tuple(rewrites)  # type: ignore[attr-defined]
    function.reads = (reader, leaves, slots)  # type: ignore[attr-defined]
    alone = Function(function, Jit())
    return function


def _check(reader: ExpressionReader, leaves: list[Any], paths: Sequence[str], keys: list[Any]) -> None:
    """Refuse what cannot be read, and say in which of the expressions it is."""
    with suppress(UnknownFunction):
        reader.check(leaves, keys)
        return
    for leaf, path in zip(leaves, paths, strict=True):
        try:
            reader.check([leaf], keys)
        except UnknownFunction as error:
            raise UnknownFunction(f"lambdify: {path}: {error}") from None


def _emitted(
    reader: ExpressionReader,
    leaves: list[Any],
    groups: list[Group],
    slots: list[ArgumentSlot],
    given: tuple[Any, ...],
) -> list[Any]:
    """The values of the expressions as operations of the function being traced."""
    now, bound = here(*given), bind(slots, given)
    sizes: dict[Any, int] = {}
    batches = [_own_shape(slot, x, sizes) for slot, x, _ in bound]
    values = [x for _, x, _ in bound]
    size = _broadcast(batches, bound)
    dtype = result_dtype(*values) if values else np.dtype(np.float64)
    if reader.complex or dtype.kind == "c":
        m: Any = ArrayAlgebra(now, size, sizes)
        env = {slot.key: _complex(x, dtype) if reader.complex else x for slot, x, _ in bound}
    else:
        dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
        sources = {slot.key: source for slot, _, source in bound if source is not None}
        m = RealAlgebra(now, Type(NAMES[dtype], size), sizes, sources)
        env = {slot.key: m.term(x) if slot.form == "number" else x for slot, x, _ in bound}
    weak = all(not isinstance(x, (np.ndarray, np.generic)) and getattr(x, "weak", True) for x in values)
    whole: dict[int, Any] = {}  # of the terms that several are elements of
    return [_made(m, term, weak, whole) for term in read_elements(reader, leaves, groups, m, env)]


def _complex(x: Any, dtype: np.dtype) -> Any:
    """An argument where all numbers are complex."""
    return x.astype(np.result_type(dtype, np.complex64)) if hasattr(x, "astype") else complex(x)


def _broadcast(batches: list[tuple[Any, ...]], bound: list[Bound]) -> tuple[Any, ...]:
    """The shape that numbers have, after NumPy's rule."""
    try:
        return broadcast_shapes(*batches)
    except ValueError:
        told = ", ".join(f"{slot.key}: {shape}" for (slot, _, _), shape in zip(bound, batches, strict=True) if shape)
        raise ValueError(f"lambdify: the shapes of the arguments do not broadcast: {told}") from None


def _own_shape(slot: ArgumentSlot, x: Any, sizes: dict[Any, int]) -> tuple[Any, ...]:
    """The shape that an argument is computed with: of matrices, that of the batch; `sizes` get their values."""
    shape = shape_of(x)
    if slot.form == "number":
        return shape
    want = getattr(slot.key, "shape", None)
    if want is None:
        return ()
    own = shape[len(shape) - len(want) :]
    if len(shape) < len(want):
        raise ValueError(f"{slot.path}, which is {slot.key}, has shape {shape}, expected {tuple(want)}")
    for n, found in zip(want, own, strict=True):
        known = sizes.setdefault(n, int(found)) if getattr(n, "is_Symbol", False) else n
        if getattr(known, "is_Integer", isinstance(known, int)) and int(known) != int(found):
            raise ValueError(f"{slot.path}, which is {slot.key}, has shape {shape}, expected {tuple(want)}")
    return shape[: len(shape) - len(want)]


def _made(m: Any, term: Any, weak: bool, whole: dict[int, Any]) -> Any:
    """A term as what the function returns; a matrix has its rows and columns in front of a batch."""
    if isinstance(term, ArrayElement):
        array = whole.get(id(term.array))
        if array is None:
            array = whole[id(term.array)] = _made(m, term.array, weak, whole)
        return ArrayElement(array, term.place)
    if isinstance(term, Term):
        return Array(m.now, term.value, weak and term.value.type.is_float)
    if isinstance(m, ArrayAlgebra):
        matrix = np.ndim(term) > len(m.batch) or not isinstance(term, (bool, int, float, complex))
        return term if matrix else np.full(m.batch, term) if m.batch else np.asarray(term)
    if isinstance(term, bool) and not m.batch:
        return term
    if isinstance(term, (bool, int, float)):
        kind = m.type.with_dtype("bool") if isinstance(term, bool) else m.type
        value = constant(m.now.builder, term, kind)
        return Array(m.now, value, weak and value.type.is_float)
    axes = np.ndim(term) - len(m.batch)
    return np.moveaxis(term, range(-axes, 0), range(axes)) if m.batch and axes else term


__all__ = ["lambdify"]
