"""Jacobians and Hessians of functions of tensors, a row or a column in each lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..ops.arranging.creation import zeros
from ..ops.arranging.pieces import cat, split
from ..ops.arranging.ranges import eye
from ..ops.arranging.shapes import movedim, reshape
from ..reverse.modes import enable_grad
from ..value.core import Core
from ..value.trees import leaves, mapped, rebuilt
from .crossings import enter, leave
from .duals import DualLevel
from .forward import attached, without
from .func import Level, chosen, parts_of, pull, with_aux
from .functional import basis_of
from .lanes import Level as Lanes


def _check_real(name: str, what: str, values: Any) -> None:
    """Refuse complex tensors, of which a Jacobian has two parts."""
    for k, x in enumerate(leaves(values)):
        if isinstance(x, Core) and x._kind_of().is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {k}."
                " Write the function as one of torch.view_as_real(z), whose last dimension has both parts."
            )


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `func`, by one pullback for each element of its result; `chunk_size` of them run together."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_real("jacrev", "inputs", args)
        level, given, numbers = Level(), list(args), chosen(args, argnums, "jacrev")
        with enable_grad():
            for n in numbers:
                given[n] = level.track(args[n], "jacrev")
            result, aux = with_aux(func(*given, **kwargs), has_aux, "jacrev")
            _check_real("jacrev", "outputs", result)
            asked = [given[n] for n in numbers]
            made = [_rows(level, y, leaves(asked), chunk_size) for y in leaves(result)]
        shaped = [rebuilt(asked, each) for each in made]
        rows = level.release([tuple(s) if isinstance(argnums, tuple) else s[0] for s in shaped])
        jacobian = rebuilt(result, rows)
        return (jacobian, level.release(aux)) if has_aux else jacobian

    return wrapper


def _rows(level: Level, y: Any, inputs: list[Any], chunk_size: int | None) -> list[Any]:
    """The Jacobian of one result in each input: the pullbacks of a basis, as the lanes of one."""
    create = level.escapes(y)
    if not y.numel():
        return [x.new_zeros(*y.shape, *x.shape) for x in inputs]
    chunks = []
    for basis in split(basis_of(y), chunk_size or y.numel(), 0):
        with Lanes(len(basis)) as lanes:
            made = pull(y, inputs, create, enter(basis, lanes))
            chunks.append([leave(x, lanes) for x in made])
    columns = zip(*chunks, strict=True)
    return [reshape(cat(c, 0), *y.shape, *x.shape) for c, x in zip(columns, inputs, strict=True)]


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The Jacobian of `func`, by one push forward for each element of its arguments `argnums`.

    randomness   as of `vmap`, in whose lanes they run
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_real("jacfwd", "inputs", args)
        given, numbers = list(args), chosen(args, argnums, "jacfwd")
        asked = [args[n] for n in numbers]
        inputs = leaves(asked)
        sizes = [x.numel() for x in inputs]
        with Lanes(sum(sizes), randomness) as lanes:
            level = DualLevel()
            try:
                moving = _moving(inputs, sizes, level, lanes)
                for n, x in zip(numbers, rebuilt(asked, moving), strict=True):
                    given[n] = x
                result, aux = with_aux(func(*given, **kwargs), has_aux, "jacfwd")
                _check_real("jacfwd", "outputs", result)
                columns = [leave(parts_of(y, level, False)[1], lanes) for y in leaves(result)]
                aux = mapped(lambda x: without(x, level), aux)
            finally:
                level.close()
        made = []
        for y, whole in zip(leaves(result), columns, strict=True):
            parts = zip(split(whole, sizes, 0), inputs, strict=True)
            shaped = rebuilt(asked, [reshape(movedim(c, 0, -1), *y.shape, *x.shape) for c, x in parts])
            made.append(tuple(shaped) if isinstance(argnums, tuple) else shaped[0])
        jacobian = rebuilt(result, made)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def _moving(inputs: Sequence[Any], sizes: Sequence[int], level: DualLevel, lanes: Lanes) -> list[Any]:
    """The inputs with tangents, in each lane a vector of the basis of all of them."""
    made, total, start = [], sum(sizes), 0
    for x, size in zip(inputs, sizes, strict=True):
        before, after = (zeros(n, size, dtype=x.dtype) for n in (start, total - start - size))
        rows = cat([before, eye(size, dtype=x.dtype), after], 0)
        made.append(attached(x, enter(reshape(rows, total, *x.shape), lanes), level))
        start += size
    return made


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The second derivatives: the Jacobian, forward, of the Jacobian, backward."""
    return jacfwd(jacrev(func, argnums), argnums)


__all__ = ["hessian", "jacfwd", "jacrev"]
