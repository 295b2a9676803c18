"""Loops as functions: scan, while_loop and fori_loop, with JAX's signatures; and checkpoint.

    @grad
    def height(v):
        def step(carry, dt):
            x, v = carry
            return (x + v * dt, v - 9.81 * dt), x
        (x, v), path = scan(step, (0.0, v), np.full(100, 0.01))
        return x

Within a compiled function each becomes one region of its graph, a native loop, whatever the number of rounds, and is
differentiated into such. Elsewhere it is plain Python, with the same results. What is carried, chosen or stacked
are trees: numbers, bools and arrays in dicts, lists, tuples and namedtuples.

Types: what a loop carries keeps its type, and branches give the same one. Only Python numbers become what they meet: a
carry that begins as 0 and becomes a float is a float from the start. Integers have 64 bits, and wrap around.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend import tracing, tree
from ..compiler.frontend.array import Array, value_of
from ..compiler.frontend.promotion import cast, lift
from ..compiler.frontend.region import Leaf, Region
from ..compiler.frontend.sizes import Length, freeze
from ..compiler.frontend.tracing import Tracing, user_line
from ..compiler.ir.types import Type
from ..compiler.ops import custom, elementwise
from ..compiler.ops.source import number
from ..compiler.settings import settings
from .carried import INDEX, Carry, check_function, emit_counted, emit_loop, emit_scan, formed, name_of
from .compiled.byname import Around
from .compiled.tracebacks import boundary

WHOLE = np.dtype(np.int64)


# ---- loops


@boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Fold `carry, y = f(carry, x)` over the first axis of `xs`: (the last carry, the y stacked along a first axis).

    init      the first carry: a tree of numbers and arrays; f returns one of the same types
    xs        a tree of arrays whose first axes have one size, or None: then `length` says how many rounds
    reverse   from the last x to the first; each y stands where its x does
    unroll    is taken for JAX's sake; the compiler decides

    ValueError for first axes of different sizes, TypeError for a carry that changes its type.

    >>> scan(lambda c, x: (c + x, c * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    """
    check_function("scan", f)
    if not isinstance(unroll, (bool, int)) or unroll < 0:
        raise ValueError(f"scan: unroll is {unroll!r}, expected a positive int or a bool")
    columns: list[Any] = []
    structure = R.flatten(xs, columns, "scan: xs")
    count = _rounds(columns, R.paths(structure), length)
    now = tracing.current()
    if now is None and count:
        return _scan_eagerly(f, init, xs, count, reverse)
    if now is not None:
        return formed(
            now,
            lambda: _scan(now, f, init, (structure, columns), count, reverse),
            lambda: _scan_eagerly(f, init, xs, count, reverse),
        )
    with tracing.running(Tracing("scan", user_line())) as empty:  # no round says what y is like
        carry, region = _traced_body(empty, f, init, (structure, columns))
    shapes = [np.zeros((0, *t.static_shape()), t.numpy) for t, _ in region.leaves[len(carry.leaves) :]]
    return init, R.rebuild(region.signature[1][1], shapes)


def _rounds(columns: Sequence[Any], paths: Sequence[str], length: int | None) -> int:
    """How many rounds a scan makes."""
    sizes: dict[str, int] = {}
    for path, each in zip(paths, columns, strict=True):
        shape = each.shape if isinstance(each, (Array, np.ndarray)) else ()
        if not shape:
            verdict = f"scan: xs{path} has no first axis to go along"
            R.refuse(verdict, "pass arrays; or xs=None and length=", given=R.leaf_of(each))
        if isinstance(shape[0], Length):
            freeze(shape[0], "scan() over it")
        sizes[f"xs{path}"] = shape[0]
    if length is not None:
        sizes["length"] = operator.index(length)
    if not sizes:
        raise ValueError("scan needs arrays in xs, or length=")
    count = min(sizes.values())
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise ValueError(f"scan: first axes have different sizes: {said}")
    if count < 0:
        raise ValueError(f"scan: length is {count}")
    return count


def _scan_eagerly(f: Any, carry: Any, xs: Any, count: int, reverse: bool) -> tuple[Any, Any]:
    rows: list[list[Any]] = []
    like = None
    for k in reversed(range(count)) if reverse else range(count):
        row = R.mapped(xs, lambda x, k=k: x[k] if hasattr(x, "shape") else x)
        carry, y = _pair(f(carry, row))
        signature = R.flatten(y, [], "scan: y", like)
        like = like or signature
        found = R.difference(like, signature, "")
        if found is not None:
            path, before, after = found
            verdict = f"scan: y changes its structure{R.at(path)}"
            R.refuse(verdict, "return the same structure in every round", before=before, after=after)
        rows.append(R.numbers(y, like))
    ordered = rows[::-1] if reverse else rows
    return carry, R.rebuild(like or (), [_stacked(column) for column in zip(*ordered, strict=True)])


def _stacked(column: Sequence[Any]) -> Any:
    """Numbers and arrays along a new first axis; Tensors as a Tensor."""
    stack = next((tree.STACKS[kind] for kind in type(column[0]).__mro__ if kind in tree.STACKS), np.stack)
    return stack(column)


def _pair(returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        what = f"{len(returned)} values" if isinstance(returned, (tuple, list)) else f"a {type(returned).__name__}"
        R.refuse(f"scan: f returned {what}", "return (carry, y); y may be None")
    return returned[0], returned[1]


def _traced_body(now: Tracing, f: Any, init: Any, xs: tuple[Any, list[Any]]) -> tuple[Carry, Region]:
    structure, columns = xs
    carry = Carry(now, "scan", init)
    n = len(carry.leaves)
    rows = [Leaf(t.with_shape(t.shape[1:]), False) for t, _ in map(R.leaf_of, columns)]

    def body(leaves: list[Leaf]) -> Region:
        def step(*given: Any) -> Any:
            return _pair(R.call(f, carry.tree(given[:n]), R.rebuild(structure, given[n:])))

        return R.trace_region(now, name_of(f, "body"), [*leaves, *rows], step, ("tuple", (carry.signature, ("any",))))

    return carry, carry.settled(body, lambda signature: signature[1][0])


def _scan(now: Tracing, f: Any, init: Any, xs: tuple[Any, list[Any]], count: int, reverse: bool) -> tuple[Any, Any]:
    carry, region = _traced_body(now, f, init, xs)
    columns = [lift(now, x) for x in xs[1]]
    last, stacks = emit_scan(carry, region, columns, count, bool(reverse))
    return carry.results(last), R.rebuild(region.signature[1][1], [Array(now, v) for v in stacks])


@boundary
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *, max_steps: int | None = None
) -> Any:
    """`val = body_fun(val)` as long as `cond_fun(val)` holds; the last val.

    init_val    the first val: a tree of numbers and arrays; body_fun returns one of the same types
    max_steps   more rounds than this are a RuntimeError; PULLBACK_MAX_STEPS if not given

    Its gradient needs no bound on the number of rounds. TypeError for a val that changes its type, and for a condition
    that is no bool.

    >>> root = lambda a: while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)
    >>> round(grad(root)(4.0), 9)
    0.25
    """
    check_function("while_loop", cond_fun)
    check_function("while_loop", body_fun)
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 0):
        raise ValueError(f"while_loop: max_steps is {max_steps!r}, expected a count")
    if max_steps is None:
        max_steps = settings.max_steps or None
    now = tracing.current()
    if now is None:
        return _while_eagerly(cond_fun, body_fun, init_val, max_steps)
    return formed(
        now,
        lambda: _while(now, cond_fun, body_fun, init_val, max_steps),
        lambda: _while_eagerly(cond_fun, body_fun, init_val, max_steps),
    )


def _while(now: Tracing, cond_fun: Any, body_fun: Any, init_val: Any, max_steps: int | None) -> Any:
    carry = Carry(now, "while_loop", init_val)

    def body(leaves: list[Leaf]) -> Region:
        step = lambda *given: R.call(body_fun, carry.tree(given))  # noqa: E731
        return R.trace_region(now, name_of(body_fun, "body"), leaves, step, carry.signature)

    region = carry.settled(body, lambda signature: signature)
    holds = lambda *given: R.call(cond_fun, carry.tree(given))  # noqa: E731
    test = R.trace_region(now, name_of(cond_fun, "test"), carry.leaves, holds)
    if test.leaves != (Leaf(Type("bool"), False),) or test.signature[0] in ("list", "tuple", "dict", "named"):
        said = ", ".join(map(str, test.leaves)) or "nothing"
        R.refuse("while_loop: the condition is no bool", "return one comparison, such as x > 0", condition=said)
    return carry.results(emit_loop(carry, region, test, max_steps))


def _while_eagerly(cond_fun: Any, body_fun: Any, val: Any, max_steps: int | None) -> Any:
    steps = 0
    while cond_fun(val):
        if steps == max_steps:
            raise RuntimeError(f"while_loop takes more than {max_steps} steps")
        val = body_fun(val)
        steps += 1
    return val


@boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`; the last val.

    lower, upper   integers, which the compiled function need not know
    init_val       the first val: a tree of numbers and arrays; body_fun returns one of the same types
    unroll         is taken for JAX's sake; the compiler decides

    >>> grad(lambda x, n: fori_loop(0, n, lambda i, p: p * x, 1.0))(2.0, 3)
    12.0
    """
    check_function("fori_loop", body_fun)
    now = tracing.current()
    if now is None:
        return _fori_eagerly(lower, upper, body_fun, init_val)
    return formed(
        now,
        lambda: _fori(now, lower, upper, body_fun, init_val),
        lambda: _fori_eagerly(lower, upper, body_fun, init_val),
    )


def _fori_eagerly(lower: Any, upper: Any, body_fun: Any, val: Any) -> Any:
    for i in range(operator.index(lower), operator.index(upper)):
        val = body_fun(i, val)
    return val


def _fori(now: Tracing, lower: Any, upper: Any, body_fun: Any, init_val: Any) -> Any:
    bounds = [_bound(now, name, each) for name, each in (("lower", lower), ("upper", upper))]
    index = functools.reduce(_common, [R.leaf_of(x) for x in (lower, upper)])
    carry = Carry(now, "fori_loop", init_val)

    def body(leaves: list[Leaf]) -> Region:
        step = lambda i, *given: R.call(body_fun, i, carry.tree(given))  # noqa: E731
        return R.trace_region(now, name_of(body_fun, "body"), [index, *leaves], step, carry.signature)

    region = carry.settled(body, lambda signature: signature)
    low, high = bounds
    if isinstance(low, int) and isinstance(high, int):
        count = number(now.builder, max(high - low, 0), INDEX)
    else:
        first, last = (number(now.builder, x, INDEX) if isinstance(x, int) else x for x in bounds)
        count = elementwise.sub(now.builder, last, first)
    return carry.results(emit_counted(carry, region, low, count))


def _bound(now: Tracing, name: str, x: Any) -> Any:
    """A bound as an int, or as a value of i64."""
    if isinstance(x, Array):
        if x.shape or x.dtype.kind != "i":
            R.refuse(f"fori_loop: {name} is no integer scalar", "convert it: .astype(int)", given=R.leaf_of(x))
        return cast(now, value_of(now, x), WHOLE)
    return operator.index(x)


def _common(a: Leaf, b: Leaf) -> Leaf:
    """The type of an index between bounds of two types."""
    return R.joined(a, b) or Leaf(INDEX, False)


# ---- memory


@boundary
def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; its gradient keeps only its arguments, and computes what else it needs once more.

    That costs the time of one more evaluation, and saves the memory of everything between: wrap the body of a long scan
    of large steps, or the layers of a deep network.

    >>> grad(checkpoint(lambda x: np.sin(np.sin(x))))(0.0)
    1.0
    """
    check_function("checkpoint", fun)
    return Checkpointed(fun)


class Checkpointed(Around):
    """A function whose gradient keeps only its arguments; see `checkpoint`."""

    __wrapped__: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fun, now = self.__wrapped__, tracing.current()
        if now is None:
            return fun(*args, **kwargs)
        called = functools.partial(fun, **kwargs) if kwargs else fun
        region = R.trace_region(now, name_of(fun, "checkpoint"), (), lambda: R.call(called, *args))
        given, (own,) = R.arguments(now, (region,))
        now.builder.where = user_line()
        made = now.builder.emit(custom.checkpoint, *[given[p] for p in own], regions=[region.graph])
        arrays = [Array(now, v, leaf.weak) for v, leaf in zip(made, region.leaves, strict=True)]
        return R.rebuild(region.signature, arrays)


__all__ = ["checkpoint", "fori_loop", "scan", "while_loop"]
