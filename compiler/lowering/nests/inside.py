"""Elements go in, and what they are made of comes out: each part once, and what its operations cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...loops import Apply, Element, Guarded, Load
from ...ops.elementwise import COSTS


def work(elements: Iterable[Element]) -> int:
    """What the operations among elements cost, in additions."""
    return sum([COSTS.get(e.spelling, 1) for e in elements if type(e) is Apply])


def children(element: Element) -> tuple[Element, ...]:
    """The elements an element is made of."""
    kind = type(element)
    if kind is Apply:
        return element.args  # type: ignore[attr-defined]
    if kind is Load:
        return tuple([e for e, _ in element.gathered]) if element.gathered else ()  # type: ignore[attr-defined]
    if kind is Guarded:
        return (element.inside, element.outside)  # type: ignore[attr-defined]
    return ()


REMEMBERED = 4096
"""Answers of `reachable` that are kept: a nest is asked some forty times what it is made of."""

_answers: dict[tuple[int, ...], tuple[tuple[Element, ...], Sequence[Element]]] = {}


def reachable(elements: Sequence[Element]) -> Sequence[Element]:
    """Every element below `elements`, each once, children first."""
    key = tuple(map(id, elements))
    known = _answers.get(key)  # which holds the elements, so that nothing else has their ids
    if known is None:
        while len(_answers) >= REMEMBERED:
            _answers.pop(next(iter(_answers), key), None)
        known = _answers[key] = tuple(elements), _in_order(elements)
    return known[1]


def _in_order(elements: Sequence[Element]) -> list[Element]:
    order: list[Element] = []
    seen: set[int] = set()
    stack: list[Element | None] = [*reversed(elements)]
    while stack:
        e = stack.pop()
        if e is None:
            order.append(stack.pop())  # type: ignore[arg-type]  # an element stands below each None
        elif id(e) not in seen:
            seen.add(id(e))
            below = children(e)
            if below:
                stack += (e, None, *reversed(below))
            else:
                order.append(e)
    return order


__all__ = ["children", "reachable", "work"]
