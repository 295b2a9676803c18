"""What calls of sizes do that nobody has seen: a call's description goes in, and its template comes out by formulas.

    linear(f32[40,16], weight, bias)     the first of its kind runs, and so does a second one with 17 rows
    linear(f32[n,16], weight, bias)      is then run with a SymInt for n, on the side: (n, 16) @ (16, 64) ...
    linear(f32[18,16], weight, bias)     gets a template with other numbers; the function does not run

So a size is no new program: nothing is called, and nodes of calls before need not be made for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from types import CellType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from ....compiler.ir.symint import example
from ..reverse.nodes import NOTHING
from ..trace.crowd import crowd
from ..trace.fragments.dynamic import Dynamic
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import Fragment
from ..trace.fragments.outlines import outlined, with_numbers
from ..trace.states import SEQUENCE, STATIC, Template
from ..value.cells import Kind, symbolic_kind
from ..value.located import Located, located, located_by_calls
from ..value.numbers import cell_of_number
from ..value.orders import Order
from ..value.paths import is_dense
from ..value.slots import HISTORY, LEAF, OPEN
from .call_nodes import Known
from .reading import SHARED, Reading
from .symbolic_run import Given, OtherSteps, SymbolicRun, Test, bare, run_with

LIMIT = 4096
"""So many calls are known without their sizes; the oldest goes first."""

SMALL = 8
"""Whole numbers below are no sizes among arguments: these are axes, mostly."""

Key = tuple[Any, ...]


class SizedTemplate(NamedTuple):
    """What templates have in common that differ in numbers only.

    template   of the example
    keys       of its fragments, (operation, attributes with numbers of the example, *classes of numbers, None for
               tensors); or those themselves that are the same for all sizes
    sized      its constants that are numbers computed from sizes
    """

    template: Template
    keys: list[Key | Fragment]
    sized: list[int]

    def at(self, numbers: Sequence[Any], reading: Reading, given: Described) -> Template | None:
        """The template with other numbers, in the order of `_learned`; None where memory lies another way, or backward
        reads something else."""
        like, made, values = self.template, Template(), iter(numbers)
        steps, kinds = [], [*like.kinds]
        given_kinds = _kinds(reading)
        for (fragment, refs, first, place), key in zip(like.steps, self.keys, strict=True):
            if isinstance(key, Fragment):
                fragment = key
            else:
                operation, attributes, *classes = key
                read = [
                    c or (kinds[r] if r >= 0 else given_kinds[-1 - r] if -r <= len(given_kinds) else kind)
                    for c, r, kind in zip(classes, refs, fragment.inputs, strict=False)
                ]  # the last is a number, which has no sizes
                fragment = fragment_for((operation, with_numbers(attributes, values), *read))
            steps.append((fragment, refs, first, place))
            kinds[first : first + len(fragment.results)] = fragment.results
        for name in COPIED:
            setattr(made, name, getattr(like, name))
        made.form, made.steps, made.kinds = reading.form.arguments, steps, kinds
        cells = {ref: cell_of_number(next(values), kinds[ref].dtype) for ref in self.sized}
        made.constants = [(ref, cells.get(ref, cell)) for ref, cell in like.constants]
        made.parts = {ref: p._replace(path=with_numbers(p.path, values)) for ref, p in like.parts.items()}
        made.within = {ref: (of, with_numbers(path, values)) for ref, (of, path) in like.within.items()}
        made.checks = [(k, _test_with(test, values)) for k, test in like.checks]
        for ref, part in made.parts.items():
            k = -1 - part.of
            own = kinds[part.of].shape if k < 0 else given_kinds[k].shape
            whole, _, path = (given.lying[k] if k >= 0 else None) or (own, None, ())
            if is_dense(whole, path + part.path) is not (ref in like.dense):
                return None
        made.results = [(ref, kinds[ref], flags) for ref, _, flags in like.results]
        made.size = sum([kind.size for kind in kinds])
        nodes = None if like.nodes is None else [_node_of(known, steps[known.step][0]) for known in like.nodes]
        made.nodes = None if nodes is None else tuple(nodes)
        return None if nodes is not None and None in nodes else made


def _node_of(known: Known, fragment: Fragment) -> Known | None:
    """A node of the example, with the pullback of another fragment, if that reads the same."""
    if known.pull is NOTHING:
        return known
    wanted = tuple([k for k, way in enumerate(known.ways) if way is not None])
    pull = fragment.pulls.get(wanted) or fragment.pull(wanted)
    if pull.reads != known.pull.reads:
        return None
    loose = known.pull.loose
    return known._replace(pull=pull if pull.loose == loose else pull._replace(loose=loose))


COPIED = (
    "call", "function", "mode", "dtypes", "bounds", "pause", "through", "aliases", "gives", "assigns",
    "renewed", "grads", "frees", "still", "viewed", "has_nodes", "ends", "plain", "values", "dense", "views",
)  # fmt: skip
"""What a template says whatever the sizes are."""


class Described(NamedTuple):
    """A call without its numbers, the numbers, and of tensors that are no dense part of memory where they lie."""

    key: Hashable
    numbers: list[Any]
    lying: list[Located | None]


class DynamicCall(Dynamic):
    """A call for all sizes."""

    def wish(self, reading: Reading, given: Described, template: Template) -> None:
        """Let it be learned soon what it does, as it has done this; of the tensors nothing is held."""
        form, kinds, flags, numbers = reading.form, _kinds(reading), reading.classes, reading.numbers

        def make(sizes: list[Any]) -> tuple[list[Any], SizedTemplate]:
            values, tensors = iter(sizes), []
            for kind, what, lies in zip(kinds, flags, given.lying, strict=True):
                own = _with_sizes(kind.dtype, kind.shape, kind.order, values)
                whole = own if lies is None else _with_sizes(kind.dtype, lies[0], lies[1], values)
                tensors.append(Given(own, what, whole, () if lies is None else with_numbers(lies[2], values)))
            positional, named = form.arguments
            arguments = [_with(f, values) for f in positional], {name: _with(f, values) for name, f in named.items()}
            return _learned(run_with(template, arguments, tensors, numbers), template)

        self.ask(given.numbers, make)


_calls: dict[Hashable, DynamicCall] = {}


def forget_dynamic_calls() -> None:
    """Forget what was learned, because what it depended on has changed."""
    _calls.clear()


def template_for(reading: Reading) -> Template | None:
    """The template of a call that has not come with these sizes, if others have taught it."""
    given = None if reading.region else _described(reading)
    call = None if given is None else _calls.get(given.key)
    found = None if given is None or call is None else call.at(given.numbers)
    return found and found[1].at(found[0], reading, given)


def learn_sizes(reading: Reading, template: Template) -> None:
    """Learn of a call that has run what calls of other sizes do, from its second size on."""
    given = _described(reading) if _is_usual(template) and not crowd.on else None
    if given is None:
        return
    call = _calls.get(given.key)
    if call is not None:
        call.wish(reading, given, template)
        return
    while len(_calls) >= LIMIT:
        _calls.pop(next(iter(_calls)), None)
    _calls[given.key] = DynamicCall(given.numbers)


def _with_sizes(dtype: str, shape: Sequence[int], order: Order, values: Iterator[Any]) -> Kind:
    return symbolic_kind(dtype, tuple([next(values) for _ in shape]), order)


def _is_usual(t: Template) -> bool:
    """Whether a call does no more than to compute values, make views of them, and write them to its arguments."""
    if t.call.exact or t.call.in_parts or any(bounds is not None for bounds in t.bounds):
        return False
    more = t.grads or t.frees or t.still or t.through or t.aliases or any(target >= 0 for target, _ in t.assigns)
    return not more and set(t.views) == set(t.parts) and not any(kind.is_complex for kind in t.kinds)


def _kinds(reading: Reading) -> list[Kind]:
    return [t._kind if t._is_late else t._cell.kind for t in reading.tensors]


def _described(reading: Reading) -> Described | None:
    """The description of a call without its numbers; None where there is more to it."""
    numbers: list[Any] = []
    tensors, lying, shared = [], [], iter(reading.shared)
    for t, kind, flags in zip(reading.tensors, _kinds(reading), reading.classes, strict=True):
        if flags & ~(LEAF | HISTORY | OPEN | SHARED) or kind.is_complex:
            return None
        numbers.extend(kind.shape)
        layout, sharing = next(shared) if flags & SHARED else (None, None)
        lies = way = None
        if layout is not None:
            lies = located_by_calls(t, reading.tape) if t._is_late else located(t)
            if lies is None:
                return None
            numbers.extend(lies[0])
            way = len(lies[0]), lies[1], outlined(lies[2], numbers)
        tensors.append((kind.dtype, len(kind.shape), kind.order, flags, sharing, way))
        lying.append(lies)
    positional, named = reading.form.arguments
    arguments = *[_bare(f, numbers) for f in positional], *[(name, _bare(f, numbers)) for name, f in named.items()]
    return Described((reading.recorded, reading.form.mode, reading.form.numbers, *tensors, arguments), numbers, lying)


def _bare(form: Any, given: list[Any]) -> Hashable:
    what = form[0]
    if what is SEQUENCE:
        return what, form[1], *[_bare(f, given) for f in form[2]]
    if what is not STATIC:
        return form
    value = form[1]
    cls = type(value)
    if cls is int and abs(value) >= SMALL:
        given.append(value)
        return STATIC, cls
    if cls is slice:
        return STATIC, cls, *[_bare((STATIC, part), given) for part in (value.start, value.stop, value.step)]
    exact = repr(value) if cls in (float, complex) else value.tobytes() if isinstance(value, np.generic) else value
    return STATIC, cls, exact


def _with(form: Any, given: Iterator[Any]) -> Any:
    """A form with other numbers, in the order in which `_bare` has found its own."""
    what = form[0]
    if what is SEQUENCE:
        return what, form[1], [_with(f, given) for f in form[2]]
    if what is not STATIC:
        return form
    value = form[1]
    if type(value) is int and abs(value) >= SMALL:
        return what, next(given)
    if type(value) is slice:
        parts = [_with((STATIC, part), given)[1] for part in (value.start, value.stop, value.step)]
        return what, slice(*parts)
    return form


def _learned(run: SymbolicRun, like: Template) -> tuple[list[Any], SizedTemplate]:
    """The numbers of a call that has run with SymInts, in the order in which `SizedTemplate.at` reads them, and it."""
    numbers: list[Any] = []
    for fragment in run.fragments:
        outlined(fragment.key[1] if fragment.key is not None else (), numbers)
    numbers += run.sized.values()
    pairs: list[tuple[Any, Any]] = [(part.path, run.path(ref, part.of)) for ref, part in like.parts.items()]
    pairs += [(path, run.path(ref, of)) for ref, (of, path) in like.within.items()]
    if [k for k, _ in like.checks] != [k for k, _ in run.checks]:
        raise OtherSteps
    pairs += [(_cells_of(a), _cells_of(b)) for (_, a), (_, b) in zip(like.checks, run.checks, strict=True)]
    for known, made in pairs:
        if bare(known) != bare(made):
            raise OtherSteps
        outlined(made, numbers)
    values = iter([*map(example, numbers)])
    keys = [f if f.key is None else _key_with(f.key, values) for f in run.fragments]
    return numbers, SizedTemplate(like, keys, [*run.sized])


def _key_with(key: Key, values: Iterator[Any]) -> Key:
    operation, attributes, *arguments = key
    return operation, with_numbers(attributes, values), *[None if type(a) is Kind else a for a in arguments]


def _cells_of(test: Test) -> tuple[Any, ...]:
    """What a test knows: its code, and the values in its closure."""
    if type(test) is not FunctionType or test.__defaults__ or test.__kwdefaults__:
        raise OtherSteps
    return test.__code__, *[cell.cell_contents for cell in test.__closure__ or ()]


def _test_with(test: Any, values: Iterator[Any]) -> Test:
    """A test with other numbers in its closure."""
    _, *known = _cells_of(test)
    if not known:
        return test
    closure = tuple([CellType(with_numbers(x, values)) for x in known])
    return FunctionType(test.__code__, test.__globals__, test.__name__, None, closure)


__all__ = ["forget_dynamic_calls", "learn_sizes", "template_for"]
