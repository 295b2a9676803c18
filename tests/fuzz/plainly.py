"""What a program of the fuzzer means: NumPy over arrays of Duals, and pullback's functions written out plainly.

    namespace = meanings()
    exec(source, namespace)
    namespace["main"](*lifted(args))

Forms such as `cond` and `scan` are Python's branches and loops here, `vmap` goes lane by lane, and a derivative is one
more tag, element by element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.control.complexified import Other
from tests.fuzz.duals import Dual, base, lift, slope

_tags = itertools.count(1)

Tree = Any


# ---- trees of numbers


def mapped(f: Callable[[Any], Any], tree: Tree) -> Tree:
    """The tree with f of every float; everything else stays."""
    if isinstance(tree, dict):
        return {key: mapped(f, each) for key, each in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(mapped(f, each) for each in tree)
    if isinstance(tree, np.ndarray) and tree.dtype.kind in "fO":
        made = np.empty(tree.shape, object)
        for at in np.ndindex(tree.shape):
            made[at] = f(tree[at])
        return made
    return f(tree) if isinstance(tree, (float, np.floating, Dual)) else tree


def numbers(tree: Tree) -> list[Any]:
    """Every float of a tree, in order."""
    found: list[Any] = []
    mapped(lambda x: found.append(x) or x, tree)
    return found


def lifted(tree: Tree) -> Tree:
    return mapped(lift, tree)


def plain(tree: Tree) -> Tree:
    """The tree with floats for Duals, and arrays of floats."""
    made = mapped(lambda x: float(base(x)), tree)

    def settled(each: Any) -> Any:
        if isinstance(each, dict):
            return {key: settled(v) for key, v in each.items()}
        if isinstance(each, (tuple, list)):
            return type(each)(settled(v) for v in each)
        return each.astype(float) if isinstance(each, np.ndarray) and each.dtype == object else each

    return settled(made)


def inner(a: Tree, b: Tree) -> Any:
    made: Any = lift(0.0)
    floats = numbers(a)
    for x, y in zip(floats, numbers(b) if floats else (), strict=True):  # whole numbers have no slope
        made = made + x * y
    return made


# ---- derivatives


def _pushed(
    f: Callable[..., Any], args: tuple[Any, ...], numbered: tuple[int, ...], along: list[Any]
) -> tuple[Any, int]:
    """The value of f at arguments that move, and the tag of how they do; `along` is None where a number stays."""
    tag, moves = next(_tags), iter(along)

    def moved(x: Any) -> Any:
        d = next(moves)
        return lift(x) if d is None else Dual(lift(x), tag, lift(d))

    given = [mapped(moved, a) if k in numbered else a for k, a in enumerate(args)]
    return f(*given), tag


def _units(args: tuple[Any, ...], numbered: tuple[int, ...]) -> Any:
    """A direction for every number of the arguments."""
    count = sum(len(numbers(args[k])) for k in numbered)
    for k in range(count):
        yield [1.0 if j == k else None for j in range(count)]


def value_and_grad(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **_: Any) -> Callable[..., Any]:
    numbered = argnums if isinstance(argnums, tuple) else (argnums,)

    def both(*args: Any) -> Any:
        made = f(*args)
        slopes = []
        for along in _units(args, numbered):
            value, tag = _pushed(f, args, numbered, along)
            slopes.append(slope(value[0] if has_aux else value, tag))
        left = iter(slopes)
        found = [mapped(lambda _: next(left), args[k]) for k in numbered]
        return made, (tuple(found) if isinstance(argnums, tuple) else found[0])

    return both


def grad(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **_: Any) -> Callable[..., Any]:
    both = value_and_grad(f, argnums, has_aux)

    def gradient(*args: Any) -> Any:
        value, found = both(*args)
        return (found, value[1]) if has_aux else found

    return gradient


def jvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    along = tuple(float(t) if isinstance(t, (int, np.integer)) else t for t in tangents)
    made, tag = _pushed(f, tuple(primals), tuple(range(len(primals))), numbers(along))
    return f(*primals), mapped(lambda y: slope(y, tag), made)


def vjp(f: Callable[..., Any], *args: Any) -> Any:
    def pullback(cotangent: Any) -> Any:
        floats = tuple(k for k, a in enumerate(args) if numbers(a) or np.size(a) == 0)
        weight = float(cotangent) if isinstance(cotangent, (int, np.integer)) else cotangent
        made = iter(grad(lambda *xs: inner(f(*xs), weight), floats)(*args))
        return tuple(next(made) if k in floats else None for k in range(len(args)))

    return f(*args), pullback


def hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *rest: jvp(lambda x: grad(f)(x, *rest[:-1]), (x,), (rest[-1],))[1]


def jacobian(f: Callable[..., Any]) -> Callable[..., Any]:
    def full(x: Any, *rest: Any) -> Any:
        args = (x, *rest)
        y = f(*args)
        columns = [numbers(mapped(lambda v, t=tag: slope(v, t), made))
                   for made, tag in (_pushed(f, args, (0,), along) for along in _units(args, (0,)))]  # fmt: skip
        shape = (*np.shape(y), *np.shape(x))
        if not shape:
            return columns[0][0]
        flat = np.empty((len(numbers(y)), len(columns)), object)
        for k, column in enumerate(columns):
            flat[:, k] = column
        return flat.reshape(shape)

    return full


def hessian(f: Callable[..., Any]) -> Callable[..., Any]:
    return jacobian(grad(f))


def jit(f: Callable[..., Any] | None = None, **_: Any) -> Any:
    return f if f is not None else lambda g: g


# ---- lanes, branches and loops


def _part(tree: Tree, k: int, axis: Any = 0) -> Tree:
    if isinstance(tree, dict):
        return {key: _part(each, k, axis) for key, each in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(_part(each, k, axis) for each in tree)
    return tree if axis is None else np.moveaxis(np.asarray(tree), axis, 0)[k]


def _joined(rows: list[Tree], axis: int = 0) -> Tree:
    first = rows[0]
    if isinstance(first, dict):
        return {key: _joined([r[key] for r in rows], axis) for key in first}
    if isinstance(first, (tuple, list)):
        return type(first)(_joined([r[k] for r in rows], axis) for k in range(len(first)))
    return None if first is None else np.stack([np.asarray(r) for r in rows], axis)


def _length(tree: Tree, axis: int = 0) -> int:
    if isinstance(tree, (dict, tuple, list)):
        return _length(next(iter(tree.values() if isinstance(tree, dict) else tree)), axis)
    return np.shape(tree)[axis]


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
    def lanes(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        count = next(_length(a, axis) for a, axis in zip(args, axes, strict=True) if axis is not None)
        return _joined([f(*map(lambda a, x, k=k: _part(a, k, x), args, axes)) for k in range(count)], out_axes)

    return lanes


def cond(p: Any, yes: Callable[..., Any], no: Callable[..., Any], *args: Any) -> Any:
    return yes(*args) if p else no(*args)


def scan(f: Callable[..., Any], carry: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    count = _length(xs) if length is None else length
    rows = []
    for k in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, None if xs is None else _part(xs, k))
        rows.append(y)
    return carry, _joined(rows[::-1] if reverse else rows)


def while_loop(test: Callable[..., Any], body: Callable[..., Any], value: Any) -> Any:
    while test(value):
        value = body(value)
    return value


def fori_loop(low: int, high: int, body: Callable[..., Any], value: Any) -> Any:
    for i in range(low, high):
        value = body(i, value)
    return value


# ---- NumPy


def _elementwise(name: str) -> Callable[[Any], Any]:
    each: Any = np.frompyfunc(lambda x: getattr(lift(x), name)(), 1, 1)
    real = getattr(np, name)
    return lambda x: each(x) if isinstance(x, Dual) or np.asarray(x).dtype.kind == "O" else real(x)


def _objects(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes arrays, with Duals where it would make floats."""

    def made(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("dtype", None)
        return lifted(make(*args, **kwargs))

    return made


def _like(value: float) -> Callable[..., Any]:
    return lambda a, **_: lifted(np.full(np.shape(a), value))


def _solve(a: Any, b: Any) -> Any:
    """Gauss's elimination without pivoting, for matrices that need none."""
    a, b = np.array(a, object), np.array(b, object)
    count = len(a)
    for k in range(count):
        for row in range(k + 1, count):
            by = a[row, k] / a[k, k]
            a[row], b[row] = a[row] - by * a[k], b[row] - by * b[k]
    x = np.empty_like(b)
    for k in reversed(range(count)):
        x[k] = (b[k] - sum((a[k, j] * x[j] for j in range(k + 1, count)), 0.0 * b[k])) / a[k, k]
    return x


def _norm(x: Any) -> Any:
    return lift(np.sum(x * x)).sqrt()


def _total(x: Any, *args: Any, **kwargs: Any) -> Any:
    """np.sum; that of no objects at all is an int, and here a float as of floats."""
    made = np.sum(x, *args, **kwargs)
    return made if np.size(x) or np.asarray(x).dtype != object else 0.0 * made


UNARY = ("sin", "cos", "exp", "log1p", "expm1", "sqrt", "tanh", "sinh", "cosh", "arctan", "arcsinh", "floor")

NUMPY = Other(
    np,
    **{name: _elementwise(name) for name in UNARY},
    **{name: _objects(getattr(np, name)) for name in ("zeros", "ones", "full", "array", "linspace", "eye")},
    zeros_like=_like(0.0),
    ones_like=_like(1.0),
    sum=_total,
    float64=object,
    float32=object,
    linalg=Other(np.linalg, solve=_solve, norm=_norm),
)

TRANSFORMS: dict[str, Any] = {
    "grad": grad, "value_and_grad": value_and_grad, "jvp": jvp, "vjp": vjp, "hvp": hvp, "hessian": hessian,
    "jacfwd": jacobian, "jacrev": jacobian, "vmap": vmap, "jit": jit, "checkpoint": lambda f: f,
    "cond": cond, "scan": scan, "while_loop": while_loop, "fori_loop": fori_loop,
}  # fmt: skip


def meanings() -> dict[str, Any]:
    """The names that a program finds, with their plain meanings."""
    return {"np": NUMPY, "math": Other(math, sin=NUMPY.sin, tanh=NUMPY.tanh, exp=NUMPY.exp), **TRANSFORMS}
