"""Random tensors: numbers evenly distributed or normal, integers and orders."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.elementwise import cast
from .....compiler.ops.shape import reshape, slice_
from ...face.results import deliver
from ...trace.fragments import Operation
from ...value.axes import check_sizes, sizes
from ...value.core import Core
from ...value.dtypes import ALL, DType, dtype_of, get_default_dtype, int64
from ..arranging.creation import finished
from ..elementwise.arithmetic import mul
from ..elementwise.complexes import view_as_complex
from ..elementwise.elementary import cast_to
from ..matrices.outside import outside
from .generators import (
    Generator,
    bits_of,
    default_generator,
    fork_rng,
    generator_of,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

if TYPE_CHECKING:
    from ...face.tensor import Tensor


def digits_of(dtype: str) -> int:
    """How many binary digits a float of this dtype has."""
    return 24 if dtype == "f32" else 53


def unit(m: Any, bits: Any, dtype: str) -> Any:
    """The highest bits, as many as the dtype has digits, as a number in [0, 1)."""
    digits = digits_of(dtype)
    whole = m.and_(m.shr(bits, 64 - digits), 2**digits - 1)
    return m(cast(m.b, whole.value, dtype=dtype)) * 2.0**-digits


def open_unit(m: Any, bits: Any, dtype: str) -> Any:
    """The same in (0, 1), with one digit less."""
    digits = digits_of(dtype) - 1
    whole = m.and_(m.shr(bits, 64 - digits), 2**digits - 1)
    return (m(cast(m.b, whole.value, dtype=dtype)) + 0.5) * 2.0**-digits


def _uniform(m: Any, state: Any, shape: tuple[int, ...], dtype: str) -> Any:
    after, bits = bits_of(m, state, shape)
    return after, unit(m, bits, dtype)


def _normal(m: Any, state: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Box and Muller: a radius from one uniform number and an angle from another, each of 53 or 24 digits."""
    after, bits = bits_of(m, state, (2, *shape))
    full = (1,) * (1 + len(shape))
    halves = []
    for k in range(2):
        half = slice_(m.b, bits.value, start=(k, *[0] * len(shape)), step=full, shape=(1, *shape))
        half = m(reshape(m.b, half, shape=shape))
        halves.append(unit(m, half, dtype))
    radius = m.sqrt(-2.0 * m.log(1.0 - halves[0]))
    return after, radius * m.cos(halves[1] * (2 * math.pi))


def _integers(m: Any, state: Any, shape: tuple[int, ...], low: int, high: int) -> Any:
    after, bits = bits_of(m, state, shape)
    return after, m.mod(m.and_(bits, 2**63 - 1), high - low) + low


UNIFORM, NORMAL = Operation("rand", "", _uniform), Operation("randn", "", _normal)
INTEGERS = Operation("randint", "", _integers)


def _drawn(
    name: str, operation: Operation, size: Any, dtype: Any, requires_grad: bool, generator: Any, out: Any
) -> Tensor:
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if isinstance(out, Core) and dtype is None:
        kind = ALL[out._read().kind.dtype]
    shape = check_sizes(sizes(size))
    if kind.is_complex:  # of variance 1, half in each part
        parts = _drawn(name, operation, (*shape, 2), kind.to_real(), False, generator, None)
        made = view_as_complex(parts if operation is UNIFORM else mul(parts, math.sqrt(0.5)))
        return finish(made, requires_grad, out)
    check_float(name, kind)
    made = generator_of(generator, name).draw(operation, shape, kind.code)
    return finish(made, requires_grad, out)


def evenly(shape: tuple[int, ...], dtype: str) -> Tensor:
    """`rand`, where the shape and the dtype are known to be right; for functions that leave out or blur at random."""
    check_float("rand", ALL[dtype])
    return default_generator.draw(UNIFORM, shape, dtype)


def check_float(name: str, kind: DType) -> None:
    """Raise PyTorch's error unless it is a float's dtype."""
    if not kind.is_floating_point:
        raise NotImplementedError(f"{name}: expected a floating-point dtype, got {kind}")


def finish(made: Any, requires_grad: bool, out: Any = None) -> Tensor:
    """The draw, as a leaf that requires grad, or written into `out`."""
    if out is not None:
        return deliver(made, out)
    return made.requires_grad_() if requires_grad else made


def rand(
    *size: Any, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False, names: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers evenly distributed in [0, 1)."""
    return _drawn("rand", UNIFORM, size, dtype, requires_grad, generator, out)


def randn(
    *size: Any, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False, names: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers of the standard normal distribution."""
    return _drawn("randn", NORMAL, size, dtype, requires_grad, generator, out)


def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`rand` in the shape and dtype of `input`."""
    kind = input._kind_of()
    return rand(kind.shape, generator=generator, dtype=dtype or ALL[kind.dtype], requires_grad=requires_grad)


def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randn` in the shape and dtype of `input`."""
    kind = input._kind_of()
    return randn(kind.shape, generator=generator, dtype=dtype or ALL[kind.dtype], requires_grad=requires_grad)


def integers(name: str, shape: tuple[int, ...], low: int, high: int, dtype: DType, generator: Any) -> Tensor:
    """Integers from low to high - 1, as numbers of `dtype`."""
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if not dtype.is_floating_point:
        least, most = limits(dtype)
        for word, n in (("from", low), ("to - 1", high - 1)):
            if not least <= n <= most:
                raise RuntimeError(f"{name}: {word} is out of bounds for {dtype}, got {n}")
    source = generator_of(generator, name)
    bits = source.bits(shape) if high - low < 2**63 else None
    if bits is None:
        return cast_to(source.draw(INTEGERS, shape, low, high), dtype.code)  # type: ignore[return-value]
    return finished(((bits & (2**63 - 1)) % (high - low) + low).astype(dtype.numpy, copy=False))


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    info = None if dtype.code == "bool" else np.iinfo(dtype.numpy)
    return (0, 1) if info is None else (int(info.min), int(info.max))


def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Integers from low (0) to high - 1."""
    if size is None and not isinstance(high, int):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None or isinstance(size, int):
        raise TypeError(f"randint(low=0, high, size): size must be a sequence of ints, got {size!r}")
    if out is not None and dtype is None:
        dtype = ALL[out._read().kind.dtype]
    kind = dtype_of(dtype) if dtype is not None else int64
    made = integers("randint", check_sizes(sizes((size,))), low, high, kind, generator)
    return finish(made, requires_grad, out)


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, generator: Generator | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randint` in the shape and dtype of `input`."""
    kind = input._kind_of()
    return randint(*((0, low) if high is None else (low, high)), kind.shape, generator=generator,
                   dtype=dtype or ALL[kind.dtype], requires_grad=requires_grad)  # fmt: skip


def randperm(
    n: int, *, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers below `n` in random order."""
    source, shape = generator_of(generator, "randperm"), check_sizes((index(n),))
    kind = dtype_of(dtype) if dtype is not None else ALL[out._read().kind.dtype] if out is not None else int64
    bits = source.bits(shape)
    if bits is None:
        return finish(cast_to(source.draw(ORDER, shape), kind.code), requires_grad, out)
    order = finished(_sorted(bits).astype(kind.numpy, copy=False))
    return finish(order, requires_grad, out)


def _sorted(bits: np.ndarray) -> np.ndarray:
    """The order of bits. NumPy's quickest sort gives it on every machine if no two are equal."""
    order = np.argsort(bits)
    row = bits[order]
    return np.argsort(bits, kind="stable") if (row[1:] == row[:-1]).any() else order


def _order(m: Any, state: Any, shape: tuple[int, ...]) -> Any:
    after, bits = bits_of(m, state, shape)
    (order,) = outside(m, "randperm", _sorted, [bits], [Type("i64", shape)])
    return after, order


ORDER = Operation("randperm", "", _order)

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
