"""Tracing: one run of a Python function on stand-ins gives its graph.

    trace(loss, signature) -> Trace(graph, result, extras)

The graph's parameters are the traced leaves of the arguments, in order, and then the extras: arrays that the function
met beside its arguments, and values of enclosing traces. The result is a tree of specifications whose leaves say
which of the graph's results they are, and as what they come back.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ir.graph import Graph, Value, Where
from ..ir.types import Dim, Type
from ..later import later
from ..ops.require import Warned, untold
from . import tracing, tree
from .array import Array
from .athand import Execute, Frozen, at_hand, guard_numbers, holds_for
from .capture.source import code_of, needs_walk
from .complexes import as_computed
from .errors import NeedsValues, TooManyOperations, TraceError
from .patched.made import lengths
from .patched.patches import patched
from .patched.recoded import recoded
from .patched.replaced import replaced
from .patched.unasked import unasked
from .results import Outputs
from .sizes import FrozenSize, Sizes, freeze_all
from .state import impure
from .state.frozen import check_unchanged, unless_drawn
from .state.outside import Outside
from .state.reading import Hidden
from .tracing import Tracing, running

if TYPE_CHECKING:
    from .capture import walk
else:
    walk = later(__package__, ".capture.walk")

Values = tuple[Sequence[Any], Execute]

SHORT = 300
"""The most operations of a function with named sizes that loops."""


@dataclass(frozen=True)
class Trace:
    """A traced function.

    graph      its operations; parameters are the traced leaves of `signature`, then `extras`
    signature  of the arguments: ("tuple", (positional ..., keywords))
    result     what it returns, with numbers of the graph's results as leaves
    extras     arrays, and values of enclosing traces, that it met beside its arguments
    frozen     what it was made for: numbers that decided how it ran
    seeks      whether a trace for more than these numbers is there for other calls
    notes      what is worth telling of how it was traced
    opened     which operations were constants that have become extras
    """

    graph: Graph
    signature: tree.Signature
    result: Any
    extras: tuple[Any, ...]
    frozen: tuple[Frozen, ...] = ()
    notes: tuple[str, ...] = ()
    seeks: bool = False
    opened: tuple[int, ...] = ()

    @property
    def inputs(self) -> int:
        """How many parameters are arguments."""
        return len(self.graph.params) - len(self.extras)

    @property
    def open(self) -> bool:
        """Whether it uses values of an enclosing trace."""
        return any(isinstance(each, Array) for each in self.extras)


def trace(
    function: Callable[..., Any],
    signature: tree.Signature,
    names: Sequence[str],
    name: str,
    where: Where | None = None,
    hidden: Hidden | None = None,
    sizes: Sizes | None = None,
    shapes: Sequence[tuple[Dim, ...]] | None = None,
    values: Values | None = None,
    seeks: bool = True,
) -> Trace:
    """Run `function` on stand-ins; `signature` is that of (arguments ..., keywords) called `names`.

    `hidden` is what it reads, which it may not change, unless it is traced within another. `sizes` are those that are
    known by name in `shapes`, the shapes of the traced leaves; the signature and the result have numbers all the same.
    `values` are the leaves of one call, and what runs an operation on them: they are asked where the function needs a
    number, and the trace is for that. With `seeks` it is looked for one that holds for more calls first.
    """
    given = Given(function, signature, names, name, where, Outside(name, where, function, hidden), sizes, shapes)
    if sizes is not None:
        return _with_sizes(given) if needs_walk(function) else _traced(given, run, values)
    if not needs_walk(function):
        return _run_first(given, values, seeks)
    if not seeks:
        return _on_values(given, values, NeedsValues("no trace is for all calls"))
    try:
        return _for_all(given, values)
    except NeedsValues as refusal:
        made = _on_values(given, values, refusal)
        why = str(refusal).partition("\n")[0]
        notes = (f"traced on the values of the call: {why}", *made.notes)
        return replace(made, seeks=isinstance(refusal, Unlike), notes=notes)


def _for_all(given: Given, values: Values | None) -> Trace:
    """The function walked for all calls, or for those that are like the one of these values."""
    made = _traced(given, walk.walk, values, supposes=True)
    if made.frozen and values is not None and not holds_for(made.graph, [*values[0], *made.extras], values[1]):
        first = made.frozen[0]
        raise Unlike(f"it is no call with {first.what}" + (f", at {first.where}" if first.where else ""))
    return made


def _run_first(given: Given, values: Values | None, seeks: bool) -> Trace:
    """A function without branches is run; where it needs numbers, it is walked for all calls if it can be."""
    try:
        made = _traced(given, run, values)
    except NeedsValues as refusal:
        if not _is_users(given.function):
            raise
        try:
            return _for_all(given, values)
        except TraceError:
            return _on_values(given, values, refusal)
    general = seeks and _is_users(given.function) and all(each.athand is None for each in tracing.enclosing())
    if not made.frozen or not general:
        return made
    try:
        return _for_all(given, values)
    except Exception as error:  # what Python raises, it has raised
        return replace(made, seeks=isinstance(error, Unlike))


def _on_values(given: Given, values: Values | None, refusal: NeedsValues) -> Trace:
    """What has no regions is walked with the values of the call; what cannot be walked at all is run."""
    errors: list[TraceError] = [refusal]
    for runs in (walk.walk, run) if values is not None else (run,):
        try:
            return _traced(given, runs, values)
        except TooManyOperations:
            raise
        except TraceError as another:
            errors.append(another)
    raise errors[values is not None and not isinstance(errors[1], NeedsValues)] from errors[-1]


class Unlike(NeedsValues):
    """A trace is for other calls than this one."""


class Given(NamedTuple):
    """What `trace` is given, but for the values of the call."""

    function: Callable[..., Any]
    signature: tree.Signature
    names: Sequence[str]
    name: str
    where: Where | None
    outside: Outside
    sizes: Sizes | None
    shapes: Sequence[tuple[Dim, ...]] | None


def _with_sizes(given: Given) -> Trace:
    """Sizes keep their names in short functions that no traced value decides in, or where loops may count them."""
    sizes = given.sizes
    assert sizes is not None
    for runs in (_shortly, walk.walk) if sizes.walked else (_shortly,):
        sizes.forget()
        try:
            return _traced(given, runs, None)
        except TraceError as error:
            refusal = error
    if isinstance(refusal, FrozenSize):
        raise refusal
    freeze_all(sizes, str(refusal).partition("\n")[0], tracing.raised_at(refusal) or given.where)


def _shortly(now: Tracing, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the function if that takes no more operations than a loop may have when it is unrolled."""
    now.most = SHORT
    return run(now, function, args, kwargs)


@unless_drawn
def _traced(given: Given, runs: Callable[..., Any], values: Values | None, supposes: bool = False) -> Trace:
    """One run, by walking the function or by calling it; one that `supposes` knows no values, and may ask for them."""
    function, signature, names, name, where, outside, sizes, shapes = given
    outer = tracing.current()
    if sizes is not None:
        sizes.line = tracing.user_line
    now = Tracing(name, where, sizes if outer is None else outer.sizes)
    params = _params(now, signature, names, shapes)
    stand_ins = [Array(now, v, weak, bool(v.type.shape)) for v, weak in params]
    now.athand = athand = at_hand(now, outer, None if supposes else values)
    if supposes and values is not None:
        now.frozen = outer.frozen if outer is not None else []
    first = len(now.frozen or ())
    arguments = tree.rebuild(signature, iter(stand_ins))
    with recoded(), running(now), outside.unchanged():
        numbers = replaced(function) if athand is not None and runs is run else nullcontext()
        with impure.replaced(), unasked(), _naming(sizes), numbers:
            if runs in (run, _shortly):
                impure.refuse_named(outside.reads)
            try:
                returned = runs(now, function, arguments[:-1], dict(arguments[-1]))
            except Exception:
                if now.broken is None:
                    raise
        if now.broken is not None:  # whether somebody has caught it or not
            raise now.broken
        check_unchanged(name, names, signature, stand_ins, arguments, where)
        results: list[Value] = []
        result = Outputs(now, signature, results, outside.seen).spec(returned)
    now.builder.where = None
    graph = as_computed(now.builder.finish(results))
    extras = tuple(given for _, given in now.extras)
    now.athand = None
    apart = not any(isinstance(each, Array) for each in (*(values[0] if values else ()), *extras))
    frozen = athand.finish(apart) if athand else ()
    if now.frozen is not None and apart:
        numbers = set(guard_numbers(graph))  # a way that has been given up has left none in the graph
        frozen = tuple([each for each in now.frozen[first:] if each.number in numbers])
        del now.frozen[first:]
    return Trace(graph, signature, result, extras, frozen, tuple(now.notes))


@contextmanager
def _naming(sizes: Sizes | None) -> Iterator[None]:
    """Let functions that ask no protocol know of named sizes."""
    if sizes is None:
        yield
        return
    with patched(), lengths():
        yield


def call_function(now: Tracing, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Walk the function if it branches, loops or stores items; else run it, and walk it where that needs numbers."""
    if needs_walk(function):
        return walk.walk(now, function, args, kwargs)
    mark = len(now.builder.body)
    try:
        return run(now, function, args, kwargs)
    except NeedsValues as refusal:
        if now.athand is not None or not _is_users(function):  # guards are among what has been emitted
            raise
        del now.builder.body[mark:]
        try:
            return walk.walk(now, function, args, kwargs)
        except NeedsValues:
            raise refusal from None


def _is_users(function: Any) -> bool:
    """Whether a function can be walked: one of a library may have values of another walk at hand."""
    while isinstance(function, functools.partial):
        function = function.func
    code = code_of(function) or code_of(inspect.getattr_static(type(function), "__call__", None))
    return code is not None and not tracing.is_foreign(code.co_filename)


def run(now: Tracing, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function; where NumPy has replaced an error of ours by a vaguer one, ours is raised."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        if now.athand is not None:  # what has been emitted so far may have failed before
            now.athand.advance()
        where, refusal = now.refusal or (None, None)
        if refusal is None or isinstance(error, (TraceError, Warned)) or where != tracing.raised_at(error):
            if now.athand is not None and not isinstance(error, TraceError) and not tracing.is_own(error):
                untold(error)  # its text may have been made of stand-ins
            raise
        raise refusal from None


def _params(
    now: Tracing, signature: tree.Signature, names: Sequence[str], shapes: Sequence[tuple[Dim, ...]] | None
) -> list[tuple[Value, bool]]:
    """A parameter for every traced leaf, named after its path."""
    made = []
    for k, (path, node) in enumerate(leaves_of(signature, names)):
        hint = re.sub(r"\W+", "_", path).strip("_")
        shape = tree.shape_of(node) if shapes is None else shapes[k]
        value = Value(Type(tree.dtype_of(node), shape), hint)
        made.append((value, node[0] in ("float", "int") or (node[0] == "traced" and node[1])))
    now.builder.extend([value for value, _ in made])
    return made


def leaves_of(signature: tree.Signature, names: Sequence[str]) -> list[tuple[str, tree.Signature]]:
    """The traced leaves of the arguments with their paths."""
    return [(p, n) for p, n in paths(signature, names) if n[0] != "static"]


def paths(signature: tree.Signature, names: Sequence[str]) -> Iterator[tuple[str, tree.Signature]]:
    """Every leaf of the arguments with its path, such as params['w'][0]."""
    *args, kwargs = signature[1]
    for name, each in zip(names, args, strict=False):
        yield from tree.nodes(each, name)
    for name, each in zip(kwargs[1], kwargs[2], strict=True):
        yield from tree.nodes(each, name)


