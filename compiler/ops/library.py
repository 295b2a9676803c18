"""Operations that NumPy computes: factorisations, transforms, searches for which no loop of our own would be quicker.

    inverse = Library("inverse", _same, _inverse, _inverse_pull, samples=lambda rng: [([near_one(rng, 3, 3)], {})])

The derivative is ours, in graph operations, so every order follows. `expand` puts a call of Python in place of such an
operation, when nothing will be differentiated any more:

    %1: f64[3,3] = external %a {name="inverse", number=4, types=(f64[3,3],)}

A library operation never fails: where a result does not exist there are NaNs, and whoever emits it looks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.primitive import REGISTRY, Primitive
from ..ir.types import Type, type_of
from .external import MAKERS, Function, Numbered, external, numbered
from .term import Terms

Types = Callable[..., Any]
Compute = Callable[..., Any]
Samples = Callable[[np.random.Generator], list[tuple[list[np.ndarray], dict[str, Any]]]]


class Library(Primitive):
    """NumPy's results for arrays.

    types     (*types, **attributes) -> the types of the results
    compute   (*arrays, **attributes) -> an array or a tuple of them
    pull      (m, inputs, results, cotangents, **attributes) -> a cotangent or None for each input; a missing
              cotangent comes as zeros, or as None if the rule is for `some` of them
    samples   (rng) -> pairs (arguments, attributes) away from kinks
    written   (m, *inputs, **attributes) -> the results as formulas, or None where the arrays are too large for that
    into      (outs, *arrays, **attributes) writes the results, where NumPy's function can do that
    """

    bounded = False
    opaque = True

    def __init__(
        self,
        name: str,
        types: Types,
        compute: Compute,
        pull: Callable[..., Any] | None = None,
        attributes: Mapping[str, str] | None = None,
        *,
        samples: Samples,
        written: Callable[..., Any] = lambda m, *inputs, **attributes: None,
        some: bool = False,
        into: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(name)
        self.written, self.some, self.into = written, some, into
        self.types, self.compute, self.pulled, self.drawn = types, compute, pull, samples
        self.attributes = attributes or {}  # type: ignore[misc]
        self.arity = compute.__code__.co_argcount - len(self.attributes)

    def infer(self, types, attrs, regions):
        if len(types) != self.arity:
            raise TypeError(f"{self.name} takes {self.arity} arguments, got {len(types)}")
        made = self.types(*types, **attrs)
        return (made,) if isinstance(made, Type) else tuple(made)

    def evaluate(self, args, attrs, regions):
        wanted = self.infer([type_of(a) for a in args], attrs, ())
        return _computed(self, attrs, wanted, args)

    def expand(self, b, op, args):
        m = Terms(b)
        made = self.written(m, *map(m, args), **op.attrs)
        if made is not None:
            return [x.value for x in (made if isinstance(made, (tuple, list)) else (made,))]
        given, gives = tuple(a.type for a in op.args), tuple(r.type for r in op.results)
        number = _number(self, tuple(sorted(op.attrs.items())), given, gives)
        return b.emit(external, *args, name=self.name, number=number, types=gives)

    def pull(self, b, op, cotangents):
        if self.pulled is None or all(ct is None for ct in cotangents):
            return [None] * len(op.args)
        m = Terms(b)
        inputs, results = [m(a) for a in op.args], [m(r) for r in op.results]
        given = [
            m(ct) if ct is not None else m.number(0.0, r.type) if r.type.is_float and not self.some else None
            for ct, r in zip(cotangents, op.results, strict=True)
        ]
        made = self.pulled(m, inputs, results, given, **op.attrs)
        return [g and g.value for g in made]

    def batch(self, m):
        return m.emit(self, *map(m.wide, range(len(m.args))), **m.op.attrs)

    def samples(self, rng):
        return self.drawn(rng)


def square(a: Type) -> Type:
    """The type of square matrices; anything else is refused."""
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2] or not a.is_float:
        raise TypeError(f"expected square matrices, got {a}")
    return a


def right_side(a: Type, b: Type) -> Type:
    """The type of solutions of A X = B, that of B; what does not fit is refused."""
    if square(a).shape[:-1] != b.shape[:-1] or a.dtype != b.dtype:
        raise TypeError(f"a matrix of type {a} does not fit with {b}")
    return b


def near_one(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Matrices near the unit one, of which no two singular values are equal."""
    return 0.2 * rng.normal(size=shape) + np.eye(shape[-2], shape[-1]) * (1 + 0.5 * np.arange(shape[-1]))


def rectangles(rng: np.random.Generator, **attributes: Any) -> list[tuple[list[np.ndarray], dict[str, Any]]]:
    """Square, tall and wide ones, as samples."""
    return [([near_one(rng, *shape)], attributes) for shape in ((3, 3), (5, 3), (2, 3, 4))]


def positive(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Positive definite matrices, symmetric."""
    a = near_one(rng, *shape)
    return a @ np.swapaxes(a, -1, -2)


def _computed(
    prim: Library, attrs: Mapping[str, Any], types: Sequence[Type], args: Sequence[np.ndarray]
) -> list[np.ndarray]:
    made = zip(_parts(prim, attrs, args), types, strict=True)
    return [np.ascontiguousarray(p, t.numpy).reshape(t.static_shape()) for p, t in made]


def _parts(prim: Library, attrs: Mapping[str, Any], args: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """What is computed, one or several arrays, of dtypes of their own."""
    with np.errstate(all="ignore"):
        made = prim.compute(*args, **attrs)
    return made if isinstance(made, tuple) else (made,)


def each(function: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """The function of many matrices at once, or of each by itself if it fails for one."""
    try:
        return function(*arrays)
    except np.linalg.LinAlgError:
        pass
    lead = arrays[0].shape[:-2]
    made = np.empty(lead, object)
    for at in np.ndindex(lead):
        try:
            made[at] = function(*(a[at] for a in arrays))
        except np.linalg.LinAlgError:
            made[at] = None
    found = next((r for r in made.flat if r is not None), None)
    if found is None:
        found = function(*(np.zeros(a.shape[-2:]) + np.eye(*a.shape[-2:]) for a in arrays))
    is_tuple = isinstance(found, tuple)
    kinds = [np.asarray(f) for f in (found if is_tuple else (found,))]
    out = [np.full((*lead, *f.shape), math.nan, f.dtype) for f in kinds]
    for at in np.ndindex(lead):
        if made[at] is not None:
            for o, f in zip(out, made[at] if is_tuple else (made[at],), strict=True):
                o[at] = f
    return tuple(out) if is_tuple else out[0]


@lru_cache(1024)
def _number(prim: Library, attrs: tuple[Any, ...], given: tuple[Type, ...], gives: tuple[Type, ...]) -> Numbered:
    """The number of the function that computes it for these types."""
    return numbered(_function(prim, attrs, given, gives))


def _function(prim: Library, attrs: tuple[Any, ...], given: tuple[Type, ...], gives: tuple[Type, ...]) -> Function:
    table, write = dict(attrs), prim.into

    def into(outs: Sequence[np.ndarray], args: Sequence[np.ndarray]) -> None:
        assert write is not None
        with np.errstate(all="ignore"):
            write(outs, *args, **table)

    call = lambda args: _parts(prim, table, args)  # noqa: E731
    return Function(prim.name, call, given, gives, True, write and into, "library", attrs)


def _made_again(
    name: str, attrs: tuple[Any, ...], given: tuple[Type, ...], gives: tuple[Type, ...]
) -> Function | None:
    """The function of a kernel that was kept on disk."""
    prim = REGISTRY.get(name)
    return _function(prim, attrs, given, gives) if isinstance(prim, Library) else None


MAKERS["library"] = _made_again


__all__ = ["Library", "each", "near_one", "positive", "rectangles", "right_side", "square"]
