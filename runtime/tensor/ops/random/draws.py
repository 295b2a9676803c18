"""Random tensors: numbers evenly distributed or normal, integers and orders."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from ...face.results import deliver
from ...transforms.lanes import open_levels
from ...value.axes import check_sizes, sizes
from ...value.core import Core, Tensor
from ...value.devices import chosen, is_meta
from ...value.devices import made as shapes
from ...value.dtypes import ALL, DType, dtype_of, get_default_dtype, int64
from ...value.formats import order_of_format
from ...value.located import order_in_memory
from ..arranging.creation import finished, turned_back
from ..elementwise.complexes import view_as_complex
from ..elementwise.elementary import cast_to
from . import laws
from .exchanges import exchanged
from .generators import (
    Generator,
    Law,
    default_generator,
    fork_rng,
    generator_of,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .layouts import laid_out
from .twister import Twister


def _drawn(
    name: str, law: Law, size: Any, dtype: Any, requires_grad: bool, generator: Any, out: Any, *numbers: Any,
    device: Any = None,
) -> Any:  # fmt: skip
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if (device is not None or chosen.default is not None) and is_meta(device):
        return shapes.shapes(check_sizes(sizes(size)), kind.numpy, requires_grad)
    if isinstance(out, Core) and dtype is None:
        kind = ALL[out._kind_of().dtype]
    shape = check_sizes(sizes(size))
    if kind.is_complex:  # of variance 1, half in each part
        if law is laws.normal:
            numbers = 0.0, 1 / math.sqrt(2), *numbers[2:]
        parts = _drawn(name, law, (*shape, 2), kind.to_real(), False, generator, None, *numbers)
        return finish(view_as_complex(parts), requires_grad, out)
    check_float(name, kind)
    made = generator_of(generator, name).draw(law, shape, kind.code, *numbers)
    return finish(made, requires_grad, out)


def evenly(shape: tuple[int, ...], dtype: str) -> Any:
    """`rand`, where the shape and the dtype are known to be right; for functions that blur at random."""
    check_float("rand", ALL[dtype])
    return default_generator.draw(laws.unit, shape, dtype)


def coins(shape: tuple[int, ...], chance: float, like: Any) -> Any:
    """True with that chance, for functions that leave out at random; in the order of `like`, if that has the shape."""
    if like._kind_of().shape == shape and order_in_memory(like) is not None:
        return laid_out(default_generator, laws.kept, like, chance)
    return default_generator.draw(laws.kept, shape, chance)


def check_float(name: str, kind: DType) -> None:
    """Raise PyTorch's error unless it is a float's dtype."""
    if not kind.is_floating_point:
        raise NotImplementedError(f"{name}: expected a floating-point dtype, got {kind}")


def finish(made: Any, requires_grad: bool, out: Any = None) -> Any:
    """The draw, as a leaf that requires grad, or written into `out`."""
    if out is not None:
        return deliver(made, out)
    return made.requires_grad_() if requires_grad else made


def rand(
    *size: Any, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False, names: Any = None,
) -> Any:  # fmt: skip
    """Numbers evenly distributed in [0, 1)."""
    return _drawn("rand", laws.unit, size, dtype, requires_grad, generator, out, device=device)


def randn(
    *size: Any, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False, names: Any = None,
) -> Any:  # fmt: skip
    """Numbers of the standard normal distribution."""
    return _drawn("randn", laws.normal, size, dtype, requires_grad, generator, out, device=device)


def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`rand` in the shape and dtype of `input`."""
    return _like("rand_like", laws.unit, input, generator, dtype, requires_grad, device, memory_format)


def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randn` in the shape and dtype of `input`."""
    return _like("randn_like", laws.normal, input, generator, dtype, requires_grad, device, memory_format)


def _like(
    name: str, law: Law, input: Tensor, generator: Any, dtype: Any, requires_grad: bool, device: Any,
    memory_format: Any,
) -> Tensor:  # fmt: skip
    shape = input._kind_of().shape
    wanted = dtype_of(dtype) if dtype is not None else ALL[input._kind_of().dtype]
    if (device is not None or input.is_meta) and is_meta(device, input):
        return shapes.shapes(shape, wanted.numpy, requires_grad)
    axes = order_of_format(input, memory_format)
    numbers = () if axes is None or law is not laws.normal else (0.0, 1.0, False)  # one by one, as PyTorch does
    laid = shape if axes is None else tuple([shape[k] for k in axes])
    made = _drawn(name, law, (laid,), wanted, False, generator, None, *numbers, device=device or "cpu")
    return finish(made if axes is None else turned_back(made, axes), requires_grad)


def drawn_normal(
    size: Any, dtype: Any, requires_grad: bool, generator: Any, out: Any, mean: float, std: float
) -> Any:
    """Numbers of one normal distribution."""
    return _drawn("normal", laws.normal, (size,), dtype, requires_grad, generator, out, mean, std)


def integers(
    name: str, shape: tuple[int, ...], low: int, high: int, dtype: DType, generator: Any, like: Any = None,
    long: bool | None = None,
) -> Any:  # fmt: skip
    """Integers from low to high - 1, as numbers of `dtype`, in the order of the elements of `like`."""
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if not dtype.is_floating_point:
        least, most = limits(dtype)
        for word, n in (("from", low), ("to - 1", high - 1)):
            if not least <= n <= most:
                raise RuntimeError(f"{name}: {word} is out of bounds for {dtype}, got {n}")
    source, law, bounds = generator_of(generator, name), laws.integers, (low, high - low, long)
    made = source.draw(law, shape, *bounds) if like is None else laid_out(source, law, like, *bounds)
    return made if dtype.code == "i64" else cast_to(made, dtype.code)  # type: ignore[return-value]


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    info = None if dtype.code == "bool" else np.iinfo(dtype.numpy)
    return (0, 1) if info is None else (int(info.min), int(info.max))


def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Integers from low (0) to high - 1."""
    if size is None and not isinstance(high, int):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None or isinstance(size, int):
        raise TypeError(f"randint(low=0, high, size): size must be a sequence of ints, got {size!r}")
    if out is not None and dtype is None:
        dtype = ALL[out._kind_of().dtype]
    kind = dtype_of(dtype) if dtype is not None else int64
    if (device is not None or chosen.default is not None) and is_meta(device):
        return shapes.shapes(check_sizes(sizes((size,))), kind.numpy, requires_grad)
    made = integers("randint", check_sizes(sizes((size,))), low, high, kind, generator)
    return finish(made, requires_grad, out)


def randint_like(
    input: Tensor, low: int | None = None, high: int | None = None, *, generator: Generator | None = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randint` in the shape and dtype of `input`; one number alone is `high`."""
    kind = input._kind_of()
    if low is None and high is None:
        raise TypeError("randint_like(input, high): high is missing; or give low and high")
    bounds = (0, low) if high is None else (low or 0, high)
    axes = None if input.is_meta else order_of_format(input, memory_format)
    laid = kind.shape if axes is None else tuple([kind.shape[k] for k in axes])
    made = randint(*bounds, laid, generator=generator, device=device or input.device, dtype=dtype or ALL[kind.dtype])
    return finish(made if axes is None else turned_back(made, axes), requires_grad)


def randperm(
    n: int, *, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """The integers below `n` in random order."""
    source, shape = generator_of(generator, "randperm"), check_sizes((index(n),))
    if (device is not None or chosen.default is not None) and is_meta(device):
        return shapes.shapes(shape, (dtype_of(dtype) if dtype is not None else int64).numpy, requires_grad)
    kind = dtype_of(dtype) if dtype is not None else ALL[out._kind_of().dtype] if out is not None else int64
    made = source.draw(_orders, shape, shape[0]) if open_levels() else finished(_order(source, shape[0]))
    return finish(made if kind is int64 else cast_to(made, kind.code), requires_grad, out)


MANY = 500_000
"""From so many exchanges on it is worth while to compile them."""


def _order(source: Generator, n: int) -> np.ndarray:
    """What is compiled is so while the generator's lock is free: traces ask for its state."""
    places = source.row(laws.places, n)
    return laws.ordered(n, places) if n < MANY else exchanged(places)


def _orders(source: Twister, count: int, n: int) -> np.ndarray:
    lanes = count // n if n else 0
    return np.array([laws.ordered(n, laws.places(source, n)) for _ in range(lanes)], np.int64).reshape(-1)


__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
