"""`torch.library.custom_op`: an operator from a function with annotations.

    @torch.library.custom_op("mylib::scaled", mutates_args=())
    def scaled(x: Tensor, by: float) -> Tensor:
        return torch.from_numpy(x.numpy() * by)

    scaled.register_autograd(lambda ctx, g: (g * ctx.by, None), setup_context=keep_by)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .differentiated import Formula
from .inferring import infer_schema
from .library import (
    define,
    forget,
    parts,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from .registry import OPERATORS


class CustomOpDef:
    """What `custom_op` makes of a function: call it, register derivatives and rules on it."""

    def __init__(self, name: str, schema: str, function: Callable[..., Any], tags: Any) -> None:
        self._namespace, self._name = parts(name)
        self._init_fn, self._qualname, self._schema = function, name, schema
        short, _, overload = self._name.partition(".")
        if overload or not short:
            raise ValueError(f"expected a name without an overload, as in 'mylib::scaled', got {name!r}")
        forget(name, "default")  # a notebook's cell that runs again defines it again
        define(name, schema, tags=tags)
        self._opoverload = OPERATORS[name]["default"]
        self._opoverload.formula = Formula()
        self.__name__, self.__doc__, self.__wrapped__ = short, function.__doc__, function

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """See `torch.library.register_kernel`."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Any, /) -> Any:
        """See `torch.library.register_fake`."""
        return register_fake(self, fn)

    def register_vmap(self, func: Any = None, /) -> Any:
        """See `torch.library.register_vmap`."""
        return register_vmap(self, func)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """See `torch.library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """Has no effect: autocast is for devices with elements of lower precision."""


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: Any = None, schema: str | None = None, tags: Any = (),
) -> Any:  # fmt: skip
    """A decorator that makes an operator `namespace::name` of a function with annotations.

    mutates_args   names of the arguments that it writes to
    device_types   devices that it runs on; None for all
    schema         the schema, where the annotations do not say it

    ValueError where the annotations have no schema. Its kernel is not differentiated: see `register_autograd`.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        said = infer_schema(function, mutates_args=mutates_args, tags=tags) if schema is None else schema
        made = CustomOpDef(name, said, function, tags)
        writes = {a.name for a in made._opoverload._schema.arguments if a.is_write}
        if schema is not None and writes != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`. The schema"
                f" suggests that the op mutates {writes}, which is different from what was provided to us in"
                " `mutates_args`. Please make these consistent."
            )
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


__all__ = ["CustomOpDef", "custom_op"]
