"""A program made small: statements and parts of expressions are left out while it still fails in the same way.

    small = shrunk(source, lambda text: verdict(text) == wanted)

It works on Python's syntax tree, so it knows nothing of what wrote the program; what cannot run does not fail in the
same way, and is not kept.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from typing import Any

Fails = Callable[[str], bool]


def shrunk(source: str, fails: Fails, seconds: float = 120.0) -> str:
    """The source with as much left out as can be in so many seconds."""
    best, end, before = ast.unparse(ast.parse(source)), time.monotonic() + seconds, ""
    seen: set[str] = set()
    while best != before:
        before = best
        for change in (_statements, _expressions):
            k = 0
            while (trials := _smaller(best, change, k)) is not None:
                for trial in trials:
                    if time.monotonic() > end:
                        return best
                    if len(trial) < len(best) and trial not in seen:
                        seen.add(trial)
                        if fails(trial):
                            best = trial
                            break
                else:
                    k += 1
    return best


def _smaller(source: str, change: Any, k: int) -> list[str] | None:
    """Texts with something left out at the node numbered k, the shortest first; None if there is no such node."""
    tree = ast.parse(source)
    node = next((n for j, n in enumerate(ast.walk(tree)) if j == k), None)
    if node is None:
        return None
    trials = []
    for undo in change(node):
        trials.append(ast.unparse(ast.fix_missing_locations(tree)))
        undo()
    return sorted(set(trials), key=len)


def _statements(node: Any) -> Iterator[Callable[[], None]]:
    """Leave out a statement, half of a block, or put what a statement holds in its place; each is taken back."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        whole = list(block)
        for width in {len(whole), (len(whole) + 1) // 2, 1} if whole else ():
            for at in range(0, len(whole), width):
                rest = whole[:at] + whole[at + width :]
                setattr(node, name, rest or ([ast.Pass()] if name == "body" else []))
                yield lambda name=name, whole=whole: setattr(node, name, whole)
        for at, each in enumerate(whole):
            for inner in ("body", "orelse"):
                part = getattr(each, inner, None)
                if isinstance(part, list) and part and not isinstance(each, ast.FunctionDef):
                    setattr(node, name, whole[:at] + part + whole[at + 1 :])
                    yield lambda name=name, whole=whole: setattr(node, name, whole)


def _expressions(node: Any) -> Iterator[Callable[[], None]]:
    """Put a part of an expression in its place, or a number."""
    for name, value in ast.iter_fields(node):
        if name in ("target", "targets"):
            continue  # what is assigned to might become something that others use
        if isinstance(value, ast.expr) and not isinstance(node, ast.Attribute):
            for part in _parts(value):
                setattr(node, name, part)
                yield lambda name=name, value=value: setattr(node, name, value)
        elif isinstance(value, list):
            for at, each in enumerate(value):
                if isinstance(each, ast.expr):
                    for part in _parts(each):
                        value[at] = part
                        yield lambda value=value, at=at, each=each: value.__setitem__(at, each)
                    if name in ("args", "elts") and len(value) > 1:
                        del value[at]
                        yield lambda value=value, at=at, each=each: value.insert(at, each)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Constant, ast.Name)):
        return
    yield ast.Constant(0.5)
    for child in ast.walk(node):
        if child is not node and isinstance(child, ast.expr) and not isinstance(child, ast.Constant):
            yield child
