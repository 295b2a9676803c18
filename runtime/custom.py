"""Calls of functions with rules, as operations: what `rules`, `implicit` and `external` have in common.

    apply(now, owner, "f", value, rule, args)

traces `value` on stand-ins for the traced arrays among the arguments, and `rule` on such for these, the results and the
cotangents of float results; all other arguments are what they are. The two become the regions of a `custom` operation.
Within its own rule the same call has no second rule, which would have no end, but refers to the first one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend.array import Array, here, value_of
from ..compiler.frontend.errors import TraceError, message
from ..compiler.frontend.promotion import conform
from ..compiler.frontend.region import Leaf, Region
from ..compiler.frontend.sizes import Length, freeze
from ..compiler.frontend.static_keys import ById, static_key
from ..compiler.frontend.tracing import Tracing, user_line
from ..compiler.ir.graph import Builder, Graph, Value, Where, inline
from ..compiler.late_classes import late_dataclass
from ..compiler.ops import custom as ops
from ..compiler.ops.source import number
from ..compiler.passes import adjoint, dead

DEPTH = 2
"""How deep calls of one function nest in its rules if their arguments are others each time: so many derivatives."""


@late_dataclass(frozen=True)
class Call:
    """A call of a function with a rule.

    name     the function's
    args     its arguments; `arrays` are the traced ones in them
    value    the region of the function
    closed   cotangents that the rule gives for values from outside; None if it says nothing of them
    """

    name: str
    args: tuple[Any, ...]
    arrays: tuple[Array, ...]
    value: Region
    closed: list[tuple[Array, Any]] | None

    def given(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with other arrays for the traced ones."""
        return put(self.args, arrays)

    def returned(self, arrays: Sequence[Any]) -> Any:
        """A result with these leaves."""
        return R.rebuild(self.value.signature, arrays)

    @property
    def floats(self) -> list[int]:
        """Which arrays have cotangents."""
        return [k for k, x in enumerate(self.arrays) if x.value.type.is_float]


Rule = Callable[[Call, Sequence[Array], Sequence[Array], Sequence[Any]], Sequence[Any]]
"""(call, arrays, results, cotangents of the results) -> a cotangent for each float array; None for zeros."""


class _Active(threading.local):
    def __init__(self) -> None:
        self.rules: list[tuple[object, Any, str]] = []


_active = _Active()


def apply(
    now: Tracing,
    owner: object,
    name: str,
    value: Callable[..., Any],
    rule: Rule,
    args: tuple[Any, ...],
    closes: bool = False,
) -> Any:
    """The result of `value(*args)`, whose derivative is what `rule` says.

    If it `closes`, values from outside that the rule gives no cotangent for have zeros.
    """
    arrays = R.arrays_of(args)
    leaves = [R.leaf_of(x) for x in arrays]
    traced = R.trace_region(now, name, leaves, lambda *given: R.call(value, *put(args, given)))
    if any(leaf.type.is_complex for leaf in (*leaves, *traced.leaves)):
        said = f"{name} has a rule of its own and takes or returns complex numbers"
        R.refuse(said, "give it real and imaginary parts")
    call = Call(name, args, tuple(arrays), traced, [] if closes else None)
    key = key_of(args)
    known = next((label for who, what, label in _active.rules if who is owner and what == key), None)
    if known is not None:
        now.builder.where = user_line()
        given = [conform(now, x, x.dtype, x.value.type.shape) for x in arrays]
        types = [leaf.type for leaf in traced.leaves]
        return _results(now, traced, now.builder.emit(ops.again, *given, name=known, types=tuple(types)))
    deep = sum(who is owner for who, _, _ in _active.rules) >= DEPTH
    with _labelled(owner, key, name) as label:
        back = _traced_rule(now, call, leaves, _no_rule if deep else rule)
    return _results(now, traced, _emit(now, call, label, back))


def put(args: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with other arrays for the traced ones."""
    left = iter(arrays)
    return R.mapped(args, lambda x: next(left) if isinstance(x, Array) else x)


@contextmanager
def _labelled(owner: object, key: Any, name: str) -> Iterator[str]:
    """A name for a call that no other has whose rule is being traced."""
    labels = {label for _, _, label in _active.rules}
    label = next(each for each in (name, *(f"{name}_{k}" for k in range(1, len(labels) + 2))) if each not in labels)
    _active.rules.append((owner, key, label))
    try:
        yield label
    finally:
        _active.rules.pop()


def key_of(x: Any) -> Any:
    """Equal for arguments that a function is traced on in the same way."""
    if isinstance(x, Array):
        return ("traced", x.weak, x.value.type)
    if type(x) is dict:
        return ("dict", *((k, key_of(v)) for k, v in x.items()))
    if isinstance(x, (list, tuple)):
        return (type(x), *map(key_of, x))
    return ById(x) if isinstance(x, np.ndarray) else static_key(x)


def _no_rule(call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> list[Any]:
    """Cotangents that are there no more: an error where they are needed after all."""
    verdict = f"the rule of {call.name} calls {call.name} again and again, with other arguments each time"
    fix = f"take derivatives up to order {DEPTH}, or let the rule pass the same functions and types"
    text = message(verdict, user_line(), fix)
    return [Array(here(), here().emit(ops.refused, type=arrays[k].value.type, text=text)) for k in call.floats]


def _traced_rule(now: Tracing, call: Call, leaves: Sequence[Leaf], rule: Rule) -> Region:
    outs = call.value.leaves
    cotangents = [leaf for leaf in outs if leaf.type.is_float]

    def run(*given: Array) -> list[Any]:
        arrays, results = given[: len(leaves)], given[len(leaves) : len(leaves) + len(outs)]
        left, inner = iter(given[len(leaves) + len(outs) :]), here()
        cts = [next(left) if leaf.type.is_float else zeros(leaf.type.shape) for leaf in outs]
        made = rule(call, arrays, results, cts)
        filled = [_filled(inner, arrays[k], ct) for k, ct in zip(call.floats, made, strict=True)]
        return filled + [_filled(inner, x, ct) for x, ct in call.closed or ()]

    return R.trace_region(now, f"{call.name}_rule", [*leaves, *outs, *cotangents], run)


def freeze_sizes(what: str, args: Any) -> None:
    """Give up names of sizes of arrays: their numbers matter."""
    for x in R.arrays_of(args):
        for n in x.shape:
            if isinstance(n, Length):
                freeze(n, what)


def zeros(shape: tuple[Any, ...]) -> Array:
    """Floats that are a constant of the graph."""
    return Array(here(), conform(here(), 0.0, np.dtype(float), shape))


def _filled(now: Tracing, x: Array, ct: Any) -> Array:
    return Array(now, conform(now, 0.0 if ct is None else ct, x.dtype, x.value.type.shape))


def _emit(now: Tracing, call: Call, label: str, back: Region) -> Sequence[Value]:
    extras, (ours, theirs) = R.arguments(now, (call.value, back))
    now.builder.where = where = user_line()
    given = [conform(now, x, x.dtype, x.value.type.shape) for x in call.arrays]
    types, n = [v.type for v in (*given, *extras)], len(given)
    b = Builder(call.name, types)
    value = b.finish(inline(call.value.graph, b, [*b.params[:n], *[b.params[n + p] for p in ours]]))
    outs = [r.type for r in value.results]
    b = Builder(f"{call.name}_rule", [*types, *outs, *[t for t in outs if t.is_float]])
    b.where = where
    own = [*b.params[:n], *b.params[len(types) :], *[b.params[n + p] for p in theirs]]
    made = inline(back.graph, b, own)
    count = len(call.floats)
    closed = {value_of(now, x): v for (x, _), v in zip(call.closed or (), made[count:], strict=True)}
    more = _of_extras(b, now, call, (call.value, back), [v for v in extras if v.type.is_float], closed)
    rule = dead(b.finish([*made[:count], *more]))
    return now.builder.emit(ops.custom, *given, *extras, regions=[value, rule], name=label, given=n)


def _of_extras(
    b: Builder, now: Tracing, call: Call, regions: Sequence[Region], extras: Sequence[Value], closed: dict[Value, Value]
) -> list[Value]:
    """Cotangents of what is no argument: zeros for arrays that are no part of the trace, an error if asked for else."""
    traced = {value_of(now, x) for region in regions for x in region.extras if isinstance(x, Array)}
    verdict = f"{call.name} is differentiated with respect to a value that it takes from outside"
    fix = f"make it an argument of {call.name}, for which its rule gives a derivative, or use stop_gradient"
    text = message(verdict, b.where, fix)

    def of(v: Value) -> Value:
        if v in closed:
            return closed[v]
        refuses = v in traced and call.closed is None
        return ops.refused.of(b, v.type, text, b.params) if refuses else number(b, 0, v.type)

    return list(map(of, extras))


def _results(now: Tracing, region: Region, made: Sequence[Value]) -> Any:
    arrays = [Array(now, v, leaf.weak) for v, leaf in zip(made, region.leaves, strict=True)]
    return R.rebuild(region.signature, arrays)


# ---- what rules return, checked


def checked(call: Call, what: str, where: Where | None, returned: Any, floats: bool = False) -> list[Any]:
    """The leaves of a value that is to be like the function's own, or only its `floats`."""
    leaves: list[Any] = []
    signature = R.flatten(returned, leaves, what, call.value.signature)
    found = R.difference(call.value.signature, signature, "")
    if found is not None:
        path, before, after = found
        _wrong(f"{what} is not like what {call.name} returns{R.at(path)}", where, before, after)
    for path, x, leaf in zip(R.paths(signature), leaves, call.value.leaves, strict=True):
        if (leaf.type.is_float or not floats) and R.joined(R.leaf_of(x), leaf) is None:
            _wrong(f"{what} is not like what {call.name} returns{R.at(path)}", where, leaf, R.leaf_of(x))
    return leaves


def cotangents(call: Call, names: Sequence[str], given: Sequence[Any], where: Where | None) -> list[Any]:
    """What a rule gives for each argument, as a cotangent for each float array in them; None stands for zeros."""
    return [c for k, ct in enumerate(given) for c in _cotangent(call, names[k], call.args[k], ct, where)]


def _cotangent(call: Call, name: str, argument: Any, ct: Any, where: Where | None) -> list[Any]:
    arrays = R.arrays_of(argument)
    if ct is None or not arrays:
        return [None for x in arrays if x.value.type.is_float]
    verdict = f"the rule of {call.name} gives a cotangent for {name} that is not like it"
    ours: list[Any] = []
    theirs: list[Any] = []
    signature = R.flatten(argument, ours, name)
    other = R.flatten(ct, theirs, f"the cotangent of {name}", signature)
    found = R.difference(signature, other, "")
    if found is not None:
        _wrong(verdict + R.at(found[0]), where, found[1], found[2])
    made = []
    for path, x, c in zip(R.paths(signature), ours, theirs, strict=True):
        if isinstance(x, Array) and x.value.type.is_float:
            wanted, given = R.leaf_of(x), R.leaf_of(c)
            if R.joined(Leaf(wanted.type, False), given) is None:
                _wrong(verdict + R.at(path), where, wanted, given)
            made.append(c)
    return made


def _wrong(verdict: str, where: Where | None, wanted: Any, given: Any) -> NoReturn:
    fix = "return the same structure, shapes and dtypes"
    raise TraceError(message(verdict, where, fix, wanted=wanted, given=given))


def defined(function: Any) -> Where | None:
    """Where a function is written."""
    code = getattr(function, "__code__", None)
    return code and Where(code.co_filename, code.co_firstlineno)


def converted(x: Any, leaf: Leaf) -> Array:
    """A number or array as what a function returns: a weak one takes the other's dtype."""
    now = here()
    return Array(now, conform(now, x, leaf.type.numpy, leaf.type.shape))


def transposed(
    now: Tracing, region: Region, inputs: Sequence[int], given: Sequence[Any], cts: Sequence[Any]
) -> tuple[list[Any], set[int]]:
    """The cotangents of the parameters numbered `inputs` of a region, at `given`, from those of its float results.

    And the numbers of the parameters that they depend on.
    """
    extras, (own,) = R.arguments(now, (region,))
    joint = adjoint(region.graph, list(inputs))
    back = dead(Graph(joint.name, joint.params, joint.body, joint.results[len(region.graph.results) :]))
    used = {a for op in back.body for a in op.args}
    params = [*region.graph.params[: len(given)], *back.params[len(region.graph.params) :]]
    args = [conform(now, x, p.type.numpy, p.type.shape) for x, p in zip((*given, *cts), params, strict=True)]
    made = inline(back, now.builder, [*args[: len(given)], *[extras[p] for p in own], *args[len(given) :]])
    return [Array(now, v) for v in made], {k for k, p in enumerate(back.params) if p in used}


__all__ = [
    "Call", "Rule", "apply", "checked", "converted", "cotangents", "defined", "freeze_sizes", "key_of", "put",
    "transposed", "zeros",
]
