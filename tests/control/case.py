"""What a corpus of functions is made of: functions as people write them, with arguments that take different paths.

    corpus = Corpus()
    case = corpus.case

    @case((2.0, 3), (2.0, 0))              two sets of arguments: three rounds, and none
    def power(x, n):
        p = 1.0
        for _ in range(n):
            p *= x
        return p

Every float in the arguments is differentiated unless `wrt` says which arguments are. Integers are traced like floats
unless `static` names their places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Args = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A function and its arguments.

    `numeric`: it has no complex step (it rounds, or calls what only takes reals), so differences check it.
    `orders`: up to which derivative it is tested. `tolerance` is relative, for derivatives.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Args, ...]
    wrt: tuple[int, ...]
    static: tuple[int, ...] = ()
    numeric: bool = False
    orders: int = 2
    tolerance: float = 1e-9


class Corpus:
    """The cases of one module, in the order in which they are written."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def case(
        self, *args: Args, wrt: tuple[int, ...] | None = None, name: str = "", **options: Any
    ) -> Callable[[Callable[..., Any]], Any]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            found = tuple(k for k, a in enumerate(args[0]) if floats(a)) if wrt is None else wrt
            if not found:
                options["orders"] = 0
            title = name or getattr(function, "__name__", type(function).__name__)
            self.cases.append(Case(title, function, args, found, **options))
            return function

        return add


@dataclass(frozen=True)
class Raising:
    """A function, arguments on which it returns, and some on which it raises.

    Our message must match the regular expression `says`, where the class of the exception does not say it all.
    """

    case: Case
    raises: tuple[Args, ...]
    says: str


class Errors:
    """Functions of one module that raise."""

    def __init__(self) -> None:
        self.cases: list[Raising] = []

    def case(self, *, returns: list[Args], raises: list[Args], says: str = "") -> Callable[[Callable[..., Any]], Any]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            wrt = tuple(k for k, a in enumerate(returns[0]) if floats(a))
            self.cases.append(Raising(Case(function.__name__, function, tuple(returns), wrt), tuple(raises), says))
            return function

        return add


def floats(tree: Any) -> list[Any]:
    """Every float of nested arguments or results, in order; dicts by sorted keys."""
    if isinstance(tree, dict):
        return [x for key in sorted(tree) for x in floats(tree[key])]
    if isinstance(tree, list | tuple):
        return [x for item in tree for x in floats(item)]
    if isinstance(tree, np.ndarray):
        return list(tree.ravel()) if tree.dtype.kind in "fc" else []
    return [tree] if isinstance(tree, float | complex | np.floating) else []


def with_floats(tree: Any, numbers: Any, scalar: Callable[[Any], Any]) -> Any:
    """The same structure with other floats, taken from the iterator `numbers`; `scalar` makes one of them."""
    if isinstance(tree, dict):
        made = {key: with_floats(tree[key], numbers, scalar) for key in sorted(tree)}
        return {key: made[key] for key in tree}
    if isinstance(tree, list | tuple):
        return type(tree)([with_floats(item, numbers, scalar) for item in tree])
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind != "f":
            return tree.copy()
        return np.array([next(numbers) for _ in range(tree.size)]).reshape(tree.shape)
    return scalar(next(numbers)) if isinstance(tree, float | np.floating) else tree


def weights(count: int) -> np.ndarray:
    """Numbers that results are summed with, so that a function of many results has one."""
    return np.cos(1.0 + 0.7 * np.arange(count)) + 0.1
