"""Random tensors: draws from one generator of the program, which `manual_seed` starts anew.

A draw is a function of the seed and of how many were drawn before, so a recorded program draws the same
numbers however it is run.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.ops.elementwise import cast
from ...compiler.ops.random import random_bits
from ...compiler.ops.shape import reshape, slice_
from .axes import check_sizes, sizes
from .cells import Cell, cell_of
from .core import Core, wrap
from .creation import finished
from .dtypes import dtype_of, get_default_dtype
from .fragments import Operation, fragment_for
from .tape import force, record

if TYPE_CHECKING:
    from .tensor import Tensor


class Generator:
    """A seed and the number of elements drawn."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed = 0
        self.state: Cell
        self.manual_seed(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]

    def manual_seed(self, seed: int) -> Generator:
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise TypeError(f"manual_seed expected an int, got {type(seed).__name__}")
        self.seed = seed.__index__()
        wrapped = (self.seed + 2**63) % 2**64 - 2**63
        self.state = cell_of(np.array([wrapped, 0], np.int64))
        return self

    def initial_seed(self) -> int:
        return self.seed

    def draw(self, operation: Operation, *attributes: Any) -> Tensor:
        """One draw; the state goes on."""
        with self.lock:
            fragment = fragment_for((operation, attributes, self.state.kind))
            self.state, value = record(fragment, [self.state])
        return wrap(value)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the random numbers anew: the same seed gives the same numbers."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed that the random numbers started from."""
    return default_generator.initial_seed()


def _bits(m: Any, state: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    after, bits = random_bits(m.b, state.value, shape=shape)
    return m(after), m(bits)


def _unit(m: Any, bits: Any, dtype: str) -> Any:
    """The highest bits, as many as the dtype has digits, as a number in [0, 1)."""
    digits = 24 if dtype == "f32" else 53
    whole = m.and_(m.shr(bits, 64 - digits), 2**digits - 1)
    return m(cast(m.b, whole.value, dtype=dtype)) * 2.0**-digits


def _uniform(m: Any, state: Any, shape: tuple[int, ...], dtype: str) -> Any:
    after, bits = _bits(m, state, shape)
    return after, _unit(m, bits, dtype)


def _normal(m: Any, state: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Box and Muller: a radius from one uniform number and an angle from another, each of 53 or 24 digits."""
    after, bits = _bits(m, state, (2, *shape))
    full = (1,) * (1 + len(shape))
    halves = []
    for k in range(2):
        half = slice_(m.b, bits.value, start=(k, *[0] * len(shape)), step=full, shape=(1, *shape))
        half = m(reshape(m.b, half, shape=shape))
        halves.append(_unit(m, half, dtype))
    radius = m.sqrt(-2.0 * m.log(1.0 - halves[0]))
    return after, radius * m.cos(halves[1] * (2 * math.pi))


def _integers(m: Any, state: Any, shape: tuple[int, ...], low: int, high: int) -> Any:
    after, bits = _bits(m, state, shape)
    return after, m.mod(m.and_(bits, 2**63 - 1), high - low) + low


UNIFORM, NORMAL = Operation("rand", "", _uniform), Operation("randn", "", _normal)
INTEGERS = Operation("randint", "", _integers)


def _drawn(
    operation: Operation, size: Any, dtype: Any, requires_grad: bool, generator: Generator | None
) -> Tensor:
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if not kind.is_floating_point:
        raise RuntimeError(f"{operation.name}: expected a floating-point dtype, got {kind}")
    shape = check_sizes(sizes(size))
    made = (generator or default_generator).draw(operation, shape, kind.code)
    return made.requires_grad_() if requires_grad else made


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers evenly distributed in [0, 1)."""
    return _drawn(UNIFORM, size, dtype, requires_grad, generator)


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers of the standard normal distribution."""
    return _drawn(NORMAL, size, dtype, requires_grad, generator)


def rand_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """`rand` in the shape and dtype of `input`."""
    kind = input._read().kind
    return rand(kind.shape, dtype=dtype or kind.type.numpy, requires_grad=requires_grad)


def randn_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """`randn` in the shape and dtype of `input`."""
    kind = input._read().kind
    return randn(kind.shape, dtype=dtype or kind.type.numpy, requires_grad=requires_grad)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from low (0) to high - 1."""
    if size is None:
        low, high, size = 0, low, high
    if size is None or isinstance(size, int):
        raise TypeError(f"randint(low=0, high, size): size must be a sequence of ints, got {size!r}")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    shape = check_sizes(sizes((size,)))
    made = (generator or default_generator).draw(INTEGERS, shape, low, high)
    return made.to(dtype_of(dtype)) if dtype is not None else made


def randperm(n: int, *, generator: Generator | None = None) -> Tensor:
    """The integers below `n` in random order."""
    drawn = (generator or default_generator).draw(UNIFORM, (n,), "f64")
    order = np.argsort(force(drawn._cell).array, kind="stable")  # type: ignore[arg-type]
    return finished(order.astype(np.int64))


def bernoulli(input: Core, *, generator: Generator | None = None) -> Tensor:
    """1 with the probabilities in `input`, else 0."""
    kind = input._read().kind
    drawn = rand(kind.shape, dtype=kind.type.numpy, generator=generator)
    return (drawn < input).to(dtype_of(kind.type.numpy))


def uniform_(input: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Write numbers evenly distributed in [low, high)."""
    return input.copy_(rand_like(input) * (high - low) + low)


def normal_(input: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Write numbers of a normal distribution."""
    return input.copy_(randn_like(input) * std + mean)
