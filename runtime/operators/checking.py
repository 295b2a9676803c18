"""`torch.library.opcheck`: whether what was registered for an operator agrees with what its kernel does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor.face import functions as T
from ..tensor.reverse.modes import no_grad
from ..tensor.transforms.gradcheck import gradcheck
from ..tensor.value.core import Core, requires
from ..tensor.value.trees import leaves, mapped
from .library import resolve
from .registry import Operator

UTILS = ("test_schema", "test_autograd_registration", "test_faketensor")


class OpCheckError(Exception):
    """A registration that does not agree with the kernel."""


def _copies(tree: Any) -> Any:
    return mapped(lambda x: x.detach().clone() if isinstance(x, Core) else x, tree)


def _check_writes(operator: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    places, named = operator._schema.bind(_copies(tuple(args)), _copies(kwargs))
    given = {a.name: v for a, v in zip(operator._schema.arguments, [*places, *named.values()], strict=True)}
    before = _copies(given)
    with no_grad():
        operator.run(places, named)
    for argument in operator._schema.arguments:
        now, then = ([x for x in leaves(t[argument.name]) if isinstance(x, Core)] for t in (given, before))
        if not argument.is_write and not all(map(T.equal, now, then)):  # type: ignore[arg-type]
            raise RuntimeError(
                f"Argument {argument.name} is not defined to alias output but was aliasing, or was mutated in place"
                f" without being said to be in {operator._schema}"
            )


def _check_derivative(operator: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """By differences, where tensors require gradients and have the precision for it."""
    followed = [x for x in leaves(list(args)) if isinstance(x, Core) and requires(x)]
    if followed and all(x.dtype is T.double for x in followed):  # type: ignore[attr-defined]
        gradcheck(lambda *given: operator(*given, **kwargs), tuple(args))


def _check_fake(operator: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    if operator.fake is None:
        if "CompositeImplicitAutograd" in operator.kernels:
            return
        raise RuntimeError(
            f"There was no fake impl registered for {operator.name()}. This is necessary for torch.compile/export/fx"
            " tracing to work. Please use `register_fake` to add an fake impl."
        )
    with no_grad():
        told = leaves(operator.fake(*_copies(tuple(args)), **kwargs))
        made = leaves(operator(*_copies(tuple(args)), **kwargs))
    kinds = [[(tuple(x.shape), x.dtype) for x in found if isinstance(x, Core)] for found in (told, made)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(f"the fake impl of {operator.name()} tells of {kinds[0]}, and its kernel made {kinds[1]}")


CHECKS: dict[str, Callable[..., None]] = dict(
    zip(UTILS, (_check_writes, _check_derivative, _check_fake), strict=True)
)


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = UTILS,
    raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check what was registered for an operator on one set of arguments.

    test_schema                  it writes to what its schema says, and its results are new
    test_autograd_registration   its derivative is that of differences, where float64 tensors require gradients
    test_faketensor              `register_fake` tells the shapes and dtypes that the kernel makes

    {name: "SUCCESS"}; OpCheckError at the first failure, or if raise_exception is False the error in the dict.
    """
    operator, found = resolve(op), {}
    for name in [test_utils] if isinstance(test_utils, str) else test_utils:
        if name.startswith("test_aot_dispatch"):  # of a compiler that there is not
            continue
        if name not in CHECKS:
            raise ValueError(f"opcheck: expected test_utils among {', '.join(UTILS)}, got {name!r}")
        try:
            CHECKS[name](operator, args, kwargs or {})
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            found[name] = error
    return found


__all__ = ["OpCheckError", "opcheck"]
