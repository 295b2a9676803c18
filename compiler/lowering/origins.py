"""An element in, the user's line that it comes from out: noted while a graph is lowered for a dump, and only then.

    with noted():
        text = emit(lower(graph), ...).text          instructions end in "  ; loss.py:12"

Elements are told apart by identity, so no part of a program has to know of it: where a primitive says what an element
is, that and what it is newly made of come from the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..ir.graph import Op, Where
from ..loops import Apply, Element, Guarded, Load, Number, Position, Variable

_origins: ContextVar[dict[int, tuple[Element, Where]] | None] = ContextVar("origins", default=None)


@contextmanager
def noted() -> Iterator[None]:
    """Inside, elements are noted and instructions say where they come from."""
    token = _origins.set({})
    try:
        yield
    finally:
        _origins.reset(token)


def made_by(op: Op, form: Any) -> Any:
    """The form of a result, or the forms of all of them, whose elements are noted as those of an operation."""
    if _origins.get() is None or op.where is None:
        return form
    if isinstance(form, tuple):
        return tuple([made_by(op, each) for each in form])
    if not is_dataclass(form) or isinstance(form, type):
        return form
    held = {f.name: getattr(form, f.name) for f in fields(form)}
    noting = {name: _noting(value, op.where) for name, value in held.items() if callable(value)}
    return replace(form, **noting) if noting else form


def _noting(value: Callable[..., Any], where: Where) -> Callable[..., Any]:
    def at(index: Any) -> Any:
        made = value(index)
        note(made if isinstance(made, (list, tuple)) else (made,), where)
        return made

    return at


def note(elements: Any, where: Where) -> None:
    """Note elements, and what they are made of, as far as that is not noted."""
    table = _origins.get()
    if table is None:
        return
    pending = [e for e in elements if isinstance(e, Element)]
    while pending:
        e = pending.pop()
        if id(e) in table or isinstance(e, Number | Variable | Position):
            continue
        table[id(e)] = e, where
        pending += parts(e)


def parts(e: Element) -> list[Element]:
    """What an element is made of."""
    if isinstance(e, Apply):
        return list(e.args)
    if isinstance(e, Load):
        return [g for g, _ in e.gathered]
    return [e.inside, e.outside] if isinstance(e, Guarded) else []


def copied(new: Element, old: Element) -> Element:
    """An element that stands for another one."""
    table = _origins.get()
    if table is not None and new is not old and id(old) in table:
        table.setdefault(id(new), (new, table[id(old)][1]))
    return new


def place(e: Element) -> Where | None:
    """Where an element comes from, if that is noted."""
    table = _origins.get()
    found = table.get(id(e)) if table else None
    return found[1] if found else None


def stamp(lines: list[str], register: str, e: Element) -> None:
    """Let the instruction that has just been written for an element say where that comes from."""
    where = place(e) if _origins.get() else None
    if where is None or not lines or not lines[-1].startswith(f"  {register} = "):
        return
    if "  ; " not in lines[-1] and " = phi " not in lines[-1]:
        lines[-1] += f"  ; {where}"


def said(e: Element) -> str:
    """The end of a line of a loop program that makes an element."""
    where = place(e)
    return f"  # {where}" if where is not None else ""


__all__ = ["copied", "made_by", "note", "noted", "place", "said", "stamp"]
