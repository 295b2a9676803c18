"""Functions of lists of tensors, `_foreach_add` and its like: for each tensor what the method of that name gives.

Each takes the list and, by its row in `OTHERS`, a number, a tensor, or a list of numbers or tensors, one for each
tensor; it returns a tuple. Those that end in an underscore write into the tensors and return the list. They are no
faster than a loop: operations on many tensors share kernels in any case.

    torch._foreach_mul_(momenta, 0.9)
    torch._foreach_add_(momenta, gradients, alpha=0.1)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.arranging.creation import result_type, tensor
from ..ops.elementwise.powers import rpow
from ..value.core import Core, number_of
from .required import check_list
from .tensor import Tensor

OTHERS = {
    (): """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal
        round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""",
    ("other scalar scalars",): "add sub mul div clamp_max clamp_min maximum minimum",
    ("exponent",): "pow",
    ("tensors1", "weights weight"): "lerp",
    ("tensor1", "tensor2", "value scalars"): "addcmul addcdiv",
}
"""Methods by what they take besides the list, and the keywords that PyTorch has for each of it."""

ONLY_NEW = {
    (): "clone max",
    ("mat2",): "mm",
    ("ord",): "norm powsum",
}
ONLY_WRITTEN = {
    (): "zero",
    ("src", "non_blocking"): "copy",
}

OPTIONS = {"add": ("alpha",), "sub": ("alpha",), "norm": ("dtype",), "powsum": ("dtype",), "clone": ("memory_format",)}
OPTIONAL = {"value scalars": 1, "ord": 2, "non_blocking": False}


def _number(function: str) -> Callable[..., Any]:
    """The method of that name for numbers, which are no arguments of `maximum` and `minimum` themselves."""
    method = getattr(Tensor, function)

    def with_number(x: Any, other: Any) -> Any:
        return method(x, other if isinstance(other, Core) else tensor(other, dtype=result_type(x, other)))

    return with_number


def _max(x: Any) -> Any:
    if not x.numel():
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return x.max()


def _powsum(x: Any, ord: Any, dtype: Any = None) -> Any:
    return (x if dtype is None else x.to(dtype)).abs().pow(ord).sum()


def _power(x: Any, exponent: Any) -> Any:
    return x.pow(exponent) if isinstance(x, Core) else rpow(exponent, x)


def _blend(name: str) -> Callable[..., Any]:
    method = getattr(Tensor, name)
    return lambda x, first, second, value: method(x, first, second, value=value)


METHODS: dict[str, Callable[..., Any]] = {
    "max": _max, "powsum": _powsum, "pow": _power, "norm": lambda x, ord, dtype=None: x.norm(ord, dtype=dtype),
    **{n: _number(n) for n in ("maximum", "minimum")},
    **{n: _blend(n) for n in ("addcmul", "addcdiv", "addcmul_", "addcdiv_")},
}  # fmt: skip
"""What is done with each tensor where that is no method with these arguments."""


def _each(name: str, what: str, given: Any, count: int) -> list[Any]:
    """An argument for each of so many tensors."""
    if isinstance(given, (list, tuple)):
        if len(given) != count:
            if given and isinstance(given[0], Core):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(given)}")
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return list(given)
    if what in ("tensor1", "tensor2", "tensors1", "mat2", "src"):
        check_list(name, given, what)
    if isinstance(given, Core) and what == "value scalars" and given.dim():
        if given.shape != (count,):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {count} but got {given.numel()} instead."
            )
        return list(given.unbind())
    if isinstance(given, Core) and given.dim():
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {given.dim()} dimensions and {given.numel()} elements."
        )
    return [given] * count


def _are_tensors(given: Any) -> bool:
    return isinstance(given[0] if isinstance(given, (list, tuple)) and given else given, Core)


def _bound(name: str, wanted: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments by place, of which those left in `kwargs` are options."""
    if len(args) > len(wanted):
        raise TypeError(f"{name}() takes {len(wanted) + 1} positional arguments but {len(args) + 1} were given")
    made = list(args)
    for words in wanted[len(args) :]:
        found = [w for w in words.split() if w in kwargs]
        if not found and words not in OPTIONAL:
            raise TypeError(f"{name}() missing 1 required positional argument: {words.split()[0]!r}")
        made.append(kwargs.pop(found[0]) if found else OPTIONAL[words])
    return made


def _for_each(method: str, wanted: tuple[str, ...], writes: bool) -> Callable[..., Any]:
    name, plain = f"_foreach_{method}", method.rstrip("_")
    options = OPTIONS.get(plain, ())
    call = METHODS.get(method) or getattr(Tensor, method, None) or _written(METHODS[plain])

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        others = _bound(name, wanted, args, kwargs)
        for option in kwargs:
            if option not in options or (option == "alpha" and not _are_tensors(others[0])):
                raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")
        if plain == "pow" and not writes and number_of(self) is not None:  # a number to the power of each tensor
            tensors = check_list(name, others[0], wanted[0])
            others, self = [tensors], [self] * len(tensors)
        else:
            tensors = check_list(name, self, "self")
        if not tensors:
            raise RuntimeError("Tensor list must have at least one tensor.")
        columns = [_each(name, w, o, len(tensors)) for w, o in zip(wanted, others, strict=True)]
        made = tuple([call(x, *row, **kwargs) for x, *row in zip(self, *columns, strict=True)])
        return self if writes else made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Tensor.{method}` of each tensor of a list."
    return function


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: x.copy_(function(x, *args, **kwargs))


def _made(table: dict[tuple[str, ...], str], writes: bool) -> dict[str, Callable[..., Any]]:
    ends = "_" if writes else ""
    return {f"_foreach_{n}{ends}": _for_each(n + ends, w, writes) for w, names in table.items() for n in names.split()}


FUNCTIONS = {
    **_made(OTHERS, False), **_made(ONLY_NEW, False), **_made(OTHERS, True), **_made(ONLY_WRITTEN, True),
}  # fmt: skip
"""All of them, by name."""

globals().update(FUNCTIONS)
