"""`torch.autograd.forward_ad`: derivatives along a direction, carried forward with the values.

    with dual_level():
        y = torch.sin(make_dual(x, t))
        unpack_dual(y).tangent              cos(x) * t
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import wraps
from typing import Any, NamedTuple

from ..ops.arranging.creation import zeros_like
from ..ops.elementwise.elementary import cast_to, clone
from ..reverse.modes import mode
from ..reverse.nodes import Node
from ..value.cells import Cell, DualCell, newest
from ..value.core import Core, requires, wrap
from ..value.dtypes import ALL
from .duals import DualLevel


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, None where it has none."""

    primal: Any
    tangent: Any


# ---- levels of our own


def attached(x: Any, tangent: Any, level: DualLevel) -> Any:
    """The value of `x` with a tangent."""
    have, given = x._kind_of(), tangent._kind_of()
    if not (have.is_float or have.is_complex):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
    if have.shape != given.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not"
            f" supported. Tensor is of size {list(have.shape)} while the given forward gradient is of size"
            f" {list(given.shape)}."
        )
    if have.dtype != given.dtype:
        tangent = cast_to(tangent, have.dtype)
    made: Any = clone(x) if requires(x) else wrap(x._read())
    edge = tangent._edge() if mode.enabled and requires(tangent) else None
    _put(made, DualCell(made._read(), tangent._read(), level, edge))
    made._tangent = made._cell, tangent
    return made


def _put(x: Any, cell: Cell) -> None:
    """Let a tensor of ours stand for another cell."""
    x._cell, x._serial = cell, 0


def taken(y: Core, level: DualLevel) -> UnpackedDualTensor:
    """The value and the tangent of a level; the tangent may be None."""
    cell = y._read()
    while type(cell) is DualCell and cell.level is not level and not cell.level.open:
        cell = cell.primal
    if type(cell) is not DualCell or cell.level is not level:
        return UnpackedDualTensor(y, None)
    kept, given = requires(y), getattr(y, "_tangent", (None, None))
    primal = clone(y) if kept and y._node is None else wrap(cell, y._node, y._index)  # type: ignore[arg-type]
    _put(primal, cell.primal)
    if given[0] is cell:
        return UnpackedDualTensor(primal, given[1])
    if cell.edge is not None:
        return UnpackedDualTensor(primal, wrap(cell.tangent, *cell.edge))
    return UnpackedDualTensor(primal, wrap(cell.tangent, _unknown(y) if kept and not cell.known else None))


class UnknownTangent(Node):
    """Says that nobody has followed the history of a tangent."""

    results: list[Any]

    @property
    def outputs(self) -> int:
        return 1

    def pull_back(self, cotangents: Sequence[Any], create: bool) -> Any:
        raise NotImplementedError(
            "the gradient of a tangent was asked for, whose value was recorded where no history is kept; use"
            " func.grad inside of func.jvp, or autograd.grad with create_graph=True"
        )


def _unknown(y: Core) -> Node:
    node = UnknownTangent([y._edge()], None)
    node.results = [y._kind_of()]
    return node


def without(y: Any, level: DualLevel) -> Any:
    """A result without its tangent."""
    return taken(y, level).primal if isinstance(y, Core) else y


# ---- the one level of PyTorch's


class _State(threading.local):
    level: DualLevel | None = None


_state = _State()


def enter_dual_level() -> int:
    """Follow tangents from here on."""
    if _state.level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _state.level = DualLevel()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Let all tangents vanish."""
    if _state.level is None or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created")
    _state.level.close()
    _state.level = None


class dual_level:
    """A context, or a decorator, within which tangents are followed."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()

    def __call__(self, function: Any) -> Any:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return wrapper


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """`tensor` with a tangent of its shape."""
    current = _state.level
    if current is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not x._kind_of().is_float:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {ALL[x._kind_of().dtype]}")
    if taken(tensor, current).tangent is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not"
            " supported."
        )
    return attached(tensor, tangent, current)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent; outside of the level where it was made there is none."""
    if _state.level is None:
        return UnpackedDualTensor(tensor, None)
    if level not in (None, 0):
        raise RuntimeError(f"Invalid level given to unpack_dual: {level}")
    return taken(tensor, _state.level)


# ---- functions whose forward mode the user writes


def with_rule(rule: Any, ctx: Any, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Give results the tangents that the user's `jvp` has for them, if arguments have tangents."""
    level = newest([a._read() for a in args if isinstance(a, Core)])
    if not isinstance(level, DualLevel) or not level.open:
        return
    given = [taken(a, level).tangent if isinstance(a, Core) else None for a in args]
    if ctx._materialize:
        given = [
            zeros_like(without(a, level)) if t is None and isinstance(a, Core) and a._kind_of().is_float else t
            for t, a in zip(given, args, strict=True)
        ]
    made = rule(ctx, *given)
    tangents = made if isinstance(made, tuple) else (made,)
    if len(tangents) != len(results):
        raise RuntimeError(
            f"jvp of {rule.__qualname__.partition('.')[0]} returned {len(tangents)} tangents for {len(results)} results"
        )
    for y, t in zip(results, tangents, strict=True):
        if isinstance(y, Core):
            value = _bare(y._read(), level)
            _put(y, value if t is None else _moving(value, without(t, level), level))


def _bare(cell: Cell, level: DualLevel) -> Cell:
    return cell.primal if type(cell) is DualCell and cell.level is level else cell


def _moving(value: Cell, tangent: Any, level: DualLevel) -> DualCell:
    edge = tangent._edge() if mode.enabled and requires(tangent) else None
    return DualCell(value, tangent._read(), level, edge)


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
