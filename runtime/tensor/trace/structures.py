"""Traces that differ from others in sizes only: a trace goes in, and a kernel comes out that serves its sizes, too.

A trace that has come compiled is a plan of its own (`plans`). Where rows, words or nodes are of another number at each
step few traces come again, but their structure does: the same operations on the same values. Its kernel is learned by
the thread that makes those of plans, once the structure has come a few times, and from then on a trace of sizes that
nobody has seen runs as one kernel at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....compiler.backend.disk import cache, store
from ....compiler.backend.kernel import Kernel, compile_graph
from ....compiler.later import later
from ....compiler.settings import settings
from .background import Job, maker
from .fragments.families import Family, family_of
from .fragments.outlines import body_of
from .states import Call, State, Step, events

if TYPE_CHECKING:
    from ....compiler.backend.sized import shared as sharing
else:
    sharing = later(__package__, "....compiler.backend.sized.shared")

OFTEN = 4
"""A structure that has come so often is learned."""

LOOKS = 32
"""A structure that has not come often is looked for on disk, until so many were not there."""

MOST = 48
"""At so many sizes of one structure, one after the other."""

KEPT = 1024
"""Structures that are counted; the one that has not come for longest goes first."""


class Structure:
    """How often traces of one structure have come, and what was learned of it.

    met      how often none of their sizes was known
    learned  at how many sizes it was lowered
    job      what learns it at the latest of the sizes that were not known
    family   the code that they share, once there is some
    kept     it is on disk
    """

    __slots__ = ("met", "learned", "job", "family", "kept")

    def __init__(self) -> None:
        self.met = self.learned = 0
        self.job: Job | None = None
        self.family: Family | None = None
        self.kept = False


_structures: OrderedDict[int, Structure] = OrderedDict()
_missed = 0
"""Structures that were not on disk."""


def structure_of(path: Sequence[State], live: bytes) -> Structure:
    """What is known of traces that go this path but for sizes."""
    key = hash((live, *[_step(state.event) for state in path]))
    found = _structures.get(key)
    if found is None:
        found = _structures[key] = Structure()
        found.kept = _is_kept(path, live)
        if len(_structures) > KEPT:
            _structures.popitem(last=False)
    else:
        _structures.move_to_end(key)
    return found


def _step(event: Any) -> Any:
    if type(event) is Call:
        return event.template.function, event.arguments
    return (event.fragment.operation, event.numbers) if isinstance(event, Step) else None


def _is_kept(path: Sequence[State], live: bytes) -> bool:
    """Whether an earlier process has learned a structure that comes first here."""
    global _missed
    kept = _missed < LOOKS and cache.enabled() and store.has(_mark(path, live))
    _missed += not kept
    return kept


def may_know(structure: Structure) -> bool:
    """Whether a kernel may be there for a trace of this structure; else count it."""
    if structure.family is not None or structure.kept:
        return True
    structure.met += 1
    return structure.met >= OFTEN


def _mark(path: Sequence[State], live: bytes) -> str:
    """A file that is there if there is a family for this structure: to look for that itself takes a plan."""
    steps = [_step(state.event) for state in path]
    return cache.key_of("structure", live, repr([step and (_name(step[0]), step[1]) for step in steps]))


def _name(of: Any) -> str:
    """What a function or an operation is called."""
    return getattr(of, "__qualname__", None) or getattr(of, "name", type(of).__qualname__)


def kernel_for(plan: Any, structure: Structure) -> Kernel | None:
    """The kernel for a plan that is new, if it is of sizes that are known; else let them be learned."""
    key, numbers = outline(plan)
    family = None if key is None else family_of(key, "trace", numbers)
    if family is None:
        return None
    structure.family = family
    made = family.known(numbers, wanted(plan))
    if made is None and structure.learned < MOST and plan.is_worth_compiling():
        if not settings.background:
            structure.learned += 1
            return _learned(family, plan, structure, numbers)
        def learn() -> None:
            if family.known(numbers, wanted(plan)) is None:
                structure.learned += 1
                _learned(family, plan, structure, numbers)

        job = structure.job
        if job is None or not job.missed() or not job.open:
            structure.job = maker.ask(learn)
        else:
            job.make = learn  # what came lately is not known yet, mostly
    return made


def _learned(family: Family, plan: Any, structure: Structure, numbers: Sequence[int]) -> Kernel | None:
    made = family.learned(plan.graph(), numbers)
    if made is not None and not structure.kept and cache.enabled():
        structure.kept = True
        store.write(_mark(events(plan.state), plan.live), b"")
    return made


def kernel_of(plan: Any) -> Kernel:
    """The kernel of a plan, with code that its sizes share with others if there is some."""
    key, numbers = outline(plan)
    family = None if key is None else family_of(key, "trace", numbers)
    made = family and family.known(numbers, wanted(plan))
    if made is None:
        graph = plan.graph()
        made = (family and family.learned(graph, numbers)) or compile_graph(graph)
    return made


def wanted(plan: Any) -> sharing.Wanted:
    """What the kernel of a plan takes and gives."""
    kinds = plan.program.kinds
    return sharing.Wanted([kinds[n].type for n, _ in plan.sources], [kinds[n].type for n in plan.results], plan.graph)


def outline(plan: Any) -> tuple[Any, list[int]]:
    """What a plan has in common with those that differ in numbers only, and the numbers, as of its graph; or None."""
    kinds, numbers, steps = plan.program.kinds, list[int](), []
    given = [kinds[n].type for n, _ in plan.sources]
    for type in given:
        numbers.extend(type.shape)
    for fragment, read, first, _ in plan.steps:
        if fragment.outline is None:
            fragment.outline = body_of(fragment.graph)
        form, own = fragment.outline
        if form is None:
            return None, numbers
        steps.append((form, read, first))
        numbers.extend(own)
    places = tuple([(n, type.dtype, len(type.shape)) for (n, _), type in zip(plan.sources, given, strict=True)])
    return (places, tuple(steps), tuple(plan.results)), numbers


__all__ = ["Structure", "kernel_for", "kernel_of", "may_know", "structure_of"]
