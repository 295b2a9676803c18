"""Sparse Jacobians and Hessians: the pattern from the graph, columns in groups, one product for each group.

    jacobian(f, sparse=True)(x)      a SciPy csr_array; its pattern is found at the first call, and shared by all

Entries along few diagonals are computed one by one: see `diagonal`. Else a product with the sum of the columns of a
group has the entries of all of them, each in a row of its own. All products are the lanes of one kernel, which puts the
entries in their order in the matrix.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.results import assemble, items_of
from ...compiler.passes.sparsity import Irregular
from ..compiled.byname import ByName, made_of
from ..compiled.chosen import Argnums, checked, split
from ..compiled.derive import Gradient, Jit, like, value_of
from ..compiled.eager import with_tensors
from ..compiled.function import Function
from ..compiled.sparsity import Found, Pattern, known_integers, pattern_of
from ..transforms import grad
from .compressed import CompressedHessian, CompressedJacobian, Other
from .diagonal import DiagonalEntries
from .grouping import EntryOrder, Products, entries, fewest, symmetric
from .leaves import without_numbers
from .linear import Linear
from .products import Hvp

NEAR = 2.0**-3
"""How far from the point of a call, in parts of it, a pattern that was given is tried once more."""


class Plan(NamedTuple):
    """What serves calls of one signature.

    found      the pattern, and what it was found for
    fixed      whether no whole number is among the arguments, on which it could depend
    steady     whether it cannot change otherwise either
    run        the kernel, which takes `arrays` after the arguments
    window     which of the elements that it returns are the entries, if not all
    matrix     the matrix without its values
    blocks     what makes containers of blocks of it, if there are several
    quick      whether nothing is to be asked before a call, and the entries are all that is made
    """

    found: Found
    fixed: bool
    steady: bool
    run: Any
    arrays: tuple[np.ndarray, ...]
    window: slice | None
    matrix: Any
    blocks: Callable[[Any], Any] | None
    quick: bool

    def entries(self, args: tuple[Any, ...], kwargs: dict[str, Any], has_aux: bool) -> tuple[Any, Any]:
        """The entries of a call, and what the function returned beside its value."""
        made = self.run(*args, *self.arrays, **kwargs)
        made, aux = made if has_aux else (made, None)
        return made if self.window is None else made[self.window], aux


class Sparse(ByName):
    """A sparse Jacobian or Hessian; see `jacobian` and `hessian`.

    f(*args)            a csr_array or csc_array; or containers of them, where arguments or results are in containers
    f.values(*args)     its entries alone, row by row, or column by column: `data` of the array
    f.sparsity(*args)   the pattern: `print` shows it, `matrix` is a csr_array of bools
    f.products(*args)   how many products with the Jacobian or Hessian, or with its transpose, have all entries
    """

    def __init__(
        self, title: str, function: Any, argnums: Argnums, has_aux: bool, pattern: Any, static_argnums: Any = (),
        static_argnames: Any = (), by_columns: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{title} takes a function, got {type(function).__name__}: {function!r:.60}")
        functools.update_wrapper(self, function, updated=())
        argnums, second = checked(title, argnums), title == "hessian"
        self._title, self._function, self._argnums, self._has_aux = title, function, argnums, has_aux
        self._given, self._second, self._statics = pattern, second, (static_argnums, static_argnames)
        plan: Any = Gradient("hessian", argnums, has_aux, False) if second else Jit(title, opens=argnums)
        self._owner = Function(function, plan, static_argnums, static_argnames)
        self._by_columns = by_columns
        self._plans: dict[Any, Plan] = {}
        self._latest: Plan | None = None
        made_of(self, title, function, argnums, has_aux, pattern, static_argnums, static_argnames, by_columns)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        plan, values, aux = self._made(args, kwargs)
        made = _filled(plan.matrix, values) if plan.blocks is None else plan.blocks(values)
        return (made, aux) if self._has_aux else made

    def __set_name__(self, owner: type, name: str) -> None:
        """In the body of a class: argument numbers count from the one after self."""
        self._owner.bound = 1

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def values(self, *args: Any, **kwargs: Any) -> Any:
        """The entries alone, in the order of the matrix."""
        plan = self._latest
        if plan is None or not plan.quick or kwargs or tracing.current() is not None:
            return self._made(args, kwargs)[1]
        try:
            made = plan.run(*args, *plan.arrays)
        except Other:
            return self._made(args, kwargs)[1]
        return made if plan.window is None else made[plan.window]

    def sparsity(self, *args: Any, **kwargs: Any) -> Pattern:
        """The pattern of all arguments and results together."""
        return Pattern(self._plan(args, kwargs).found.matrix.copy())

    def products(self, *args: Any, **kwargs: Any) -> int:
        """How many products have all entries: the number of groups. Entries along few diagonals are found without."""
        return sum(self._products(self._plan(args, kwargs).found).counts)

    def __pullback_dense__(self, args: tuple[Any, ...]) -> tuple[Any, Argnums, tuple[Any, Any], Any, list[Any]]:
        """What `check` compares: the function whose Jacobian it is, its argnums and static arguments, the csr_array of
        all arguments and results together, and the shapes of the chosen arguments' leaves."""
        value = value_of(self._function) if self._has_aux else self._function
        if self._second:
            value = grad(value, self._argnums, static_argnums=self._statics[0], static_argnames=self._statics[1])
        plan, values, _ = self._made(args, {})
        places = self._owner.places_of(self._argnums, args[0] if args else None, len(args), ())
        leaves: list[Any] = []
        tree.flatten(tree.opened(split(self._argnums, places, args, {})[0]), leaves)
        return value, self._argnums, self._statics, _filled(plan.matrix, values), [np.shape(each) for each in leaves]

    def __pullback_parts__(self, name: str, example: tuple[Any, ...]) -> list[tuple[str, Any, Any]]:
        """What `build` makes of it: the entries as a function of the arguments, and the pattern of the example."""
        plan = self._plan(example, {})
        if not plan.fixed:
            said = f"sparse {self._title} of {self._owner.__name__} has whole numbers among its arguments"
            raise TypeError(f"{said}, on which its pattern may depend: fix them with functools.partial before building")
        has_aux = self._has_aux
        shape, indices, starts = plan.matrix.shape, plan.matrix.indices.copy(), plan.matrix.indptr.copy()

        @functools.wraps(self._function, updated=())
        def entries_of(*args: Any) -> Any:
            made, aux = plan.entries(args, {}, has_aux)
            return (made, aux) if has_aux else made

        def pattern() -> Any:
            return indices, starts, shape

        return [(name, entries_of, example), (f"{name}_pattern", pattern, ())]

    def _made(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Plan, Any, Any]:
        """The plan for a call, the entries and what the function returned beside its value."""
        plan = self._latest
        if plan is None or not plan.fixed or tracing.current() is not None or not (plan.steady or plan.found.holds()):
            plan = self._plan(args, kwargs)
        try:
            return plan, *plan.entries(args, kwargs, self._has_aux)
        except Other:
            plan = self._plan(args, kwargs)
            return plan, *plan.entries(args, kwargs, self._has_aux)

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        if tracing.current() is not None:
            said = f"sparse {self._title} of {self._owner.__name__} in a function that is traced"
            raise TypeError(f"{said}: there are no SciPy matrices there; call it outside, or leave out sparse=True")
        with_tensors(f"sparse {self._title}", self._function, args, args)
        signature, leaves = self._owner.flatten(args, kwargs)
        numbers = known_integers(leaves)
        key = (signature, tuple([(k, v.tobytes()) for k, v in numbers.items()]))
        plan = self._plans.get(key)
        if plan is None or not plan.found.holds():
            plan = self._planned(args, kwargs, signature, leaves, not numbers)
            self._check(plan, args, kwargs)
            self._plans[key] = plan
            while len(self._plans) > MOST:
                del self._plans[next(iter(self._plans))]
        self._latest = plan
        return plan

    def _planned(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: tree.Signature, leaves: list[Any], fixed: bool
    ) -> Plan:
        more = (self._has_aux, self._second, self._pattern)
        found = pattern_of(self._owner, self._argnums, signature, leaves, *more)
        order = EntryOrder.of(found.matrix, self._by_columns)
        run, arrays, window = self._kernel(args, kwargs, found, order)
        matrix = self._matrix(np.zeros(found.matrix.nnz), order.minor, order.starts, found.matrix.shape)
        quick = fixed and found.steady and not self._has_aux
        return Plan(found, fixed, found.steady, run, arrays, window, matrix, self._blocks(found, order), quick)

    def _matrix(self, values: Any, minor: Any, starts: Any, shape: tuple[int, int]) -> Any:
        """A csr_array, or csc_array, with indices of 32 bits where that is enough: many solvers take no others."""
        import scipy.sparse as sp

        dtype = np.int32 if max(len(values), int(minor.max(initial=0))) < 2**31 else np.int64
        kind = sp.csc_array if self._by_columns else sp.csr_array
        return kind((values, minor.astype(dtype), starts.astype(dtype)), shape)

    def _kernel(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], found: Found, order: EntryOrder
    ) -> tuple[Any, tuple[np.ndarray, ...], slice | None]:
        """What makes the entries, what it is given after the arguments, and which of its elements they are."""
        more = (self._function, self._argnums, self._has_aux, *self._statics)
        along = _bound(DiagonalEntries(self._second, *more), self._owner.bound)
        try:
            layout = along.planned(args, kwargs, found.matrix, order)
        except Irregular:
            kind: Any = CompressedHessian if self._second else CompressedJacobian
            products = self._products(found)
            products = products._replace(at=products.at[order.places])
            return _bound(kind(*more), self._owner.bound), products.arrays(), None
        return along, (layout.at,), None if layout.rows is None else layout.rows.window()

    def _products(self, found: Found) -> Products:
        return symmetric(found.matrix) if self._second else fewest(found.matrix)

    def _pattern(self, shape: tuple[int, int]) -> Any:
        """The pattern that was given, as a csr_array of bools; None if it is to be found."""
        import scipy.sparse as sp

        if self._given is None:
            return None
        given = self._given.matrix if isinstance(self._given, Pattern) else self._given
        made = sp.csr_array(given != 0 if sp.issparse(given) else np.asarray(given, bool))
        title = f"{self._title} of {self._owner.__name__}"
        if made.shape != shape:
            raise ValueError(f"{title}: the pattern has shape {made.shape}, expected {shape}")
        if self._second and (made != made.T).nnz:
            raise ValueError(f"{title}: the pattern is not symmetric, as that of a Hessian is: use pattern + pattern.T")
        made.sum_duplicates()
        made.sort_indices()
        return made.astype(bool)

    def _blocks(self, found: Found, order: EntryOrder) -> Callable[[Any], Any] | None:
        """What makes blocks of the entries, one for each leaf of the result and each leaf of the argument."""
        given = [like(node, itertools.count()) for node in found.given]
        single = not isinstance(self._argnums, tuple)
        spec = given[0] if single else None
        if single and items_of(spec) is None and items_of(found.result) is None:
            return None
        over = spec if single else specs.TupleResult(tuple(given))
        rows, columns = (each[order.places] for each in entries(found.matrix))
        edges = [np.cumsum([0, *sizes]) for sizes in (found.rows, found.columns)]

        def block(r: int, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
            """Which entries are in a block, its indices and the starts of its rows or columns, and its shape."""
            (top, bottom), (left, right) = edges[0][r : r + 2], edges[1][c : c + 2]
            own = np.flatnonzero((rows >= top) & (rows < bottom) & (columns >= left) & (columns < right))
            major, minor, shape = rows[own] - top, columns[own] - left, (int(bottom - top), int(right - left))
            if self._by_columns:
                major, minor = minor, major
            counts = np.bincount(major, minlength=shape[self._by_columns])
            return own, minor, np.concatenate([[0], np.cumsum(counts)]), shape

        parts = [[block(r, c) for c in range(len(found.columns))] for r in range(len(found.rows))]

        def made(values: Any) -> Any:
            def matrix(r: int, c: int) -> Any:
                own, indices, starts, shape = parts[r][c]
                return self._matrix(values[own], indices, starts, shape)

            number = itertools.count()

            def row(_: Any) -> Any:
                r, at = next(number), itertools.count()
                return assemble(over, lambda _: matrix(r, next(at)))

            return assemble(found.result, row)

        return made

    def _check(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """One product with the derivative and with the matrix: an entry that the pattern misses is an error.

        Where the pattern was given there is another close by: the entry may happen to be zero at the point of the call.
        """
        args, kwargs = self._owner._bind(args, kwargs)
        places = self._owner.places_of(self._argnums, args[0] if args else None, len(args), tuple(kwargs))
        x, put = split(self._argnums, places, args, kwargs)
        leaves: list[Any] = []
        signature = tree.flatten(tree.opened(x), leaves)
        rng = np.random.default_rng(0)
        random = [rng.uniform(0.5, 1.5, np.shape(each)).astype(np.asarray(each).dtype) for each in leaves]
        tangent = _with_leaves(without_numbers(signature), leaves, random)
        wrong = self._apart(plan, args, kwargs, random, tangent)
        if self._given is not None and not wrong.any():
            near = [each + NEAR * (1 + abs(each)) * r for each, r in zip(leaves, random, strict=True)]
            with contextlib.suppress(Exception):  # the function need not be defined there
                args, kwargs = put(_with_leaves(signature, leaves, near))
                wrong = self._apart(plan, args, kwargs, random, tangent, finite=True)
        if wrong.any():
            title, at = f"{self._title} of {self._owner.__name__}", int(np.argmax(wrong))
            if self._given is not None:
                found = f"the pattern misses an entry in row {at}"
                raise ValueError(f"{title}: {found}: leave it out to have it found, or see f.sparsity(...) without it")
            raise RuntimeError(f"{title}: row {at} is wrong, a fault of ours; leave out sparse=True")

    def _apart(
        self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any], random: list[np.ndarray], tangent: Any,
        finite: bool = False,
    ) -> np.ndarray:
        """Where the products with the derivative and with the matrix differ; if both are to be `finite`, only there."""
        kind: Any = Hvp if self._second else Linear
        product = _bound(kind(self._function, self._argnums, self._has_aux, *self._statics), self._owner.bound)
        product = product(*args, tangent, **kwargs)
        wanted: list[Any] = []
        tree.flatten(tree.opened(product[0] if self._has_aux else product), wanted)
        matrix = _filled(plan.matrix, plan.entries(args, kwargs, self._has_aux)[0])
        vector = np.concatenate([np.ravel(each) for each in random])
        made, scale = matrix @ vector, abs(matrix) @ abs(vector)
        want = np.concatenate([np.ravel(each) for each in wanted])
        coarse = matrix.data.dtype == np.float32
        apart = np.abs(made - want) > (1e-2 if coarse else 1e-6) * (scale + np.abs(want))
        return apart & np.isfinite(made) & np.isfinite(want) if finite else apart


def _with_leaves(signature: tree.Signature, like: list[Any], leaves: list[Any]) -> Any:
    """A tree with other leaves, those floats that are floats in another."""
    return tree.rebuild(signature, iter([float(new) if type(old) is float else np.asarray(new, np.asarray(old).dtype)
                                         for new, old in zip(leaves, like, strict=True)]))  # fmt: skip


def _bound(made: Any, bound: int) -> Any:
    made.bound = made.value.bound = bound
    return made


MOST = 64
"""Plans of one function that are kept."""


def _filled(matrix: Any, values: Any) -> Any:
    """The matrix with these values; everything else is shared."""
    made = object.__new__(type(matrix))
    made.__dict__.update(matrix.__dict__)
    made.data = values
    return made


__all__ = ["Sparse"]
