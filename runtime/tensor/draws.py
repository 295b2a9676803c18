"""Random tensors: draws from one generator of the program, which `manual_seed` starts anew.

A draw is a function of the seed and of how many were drawn before, so a recorded program draws the same
numbers however it is run.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.ir.types import Type
from ...compiler.ops.elementwise import cast
from ...compiler.ops.random import random_bits
from ...compiler.ops.shape import reshape, slice_
from .arithmetic import mul
from .axes import check_sizes, sizes
from .cells import Cell, cell_of
from .complexes import view_as_complex
from .core import Core, wrap
from .creation import finished
from .crossings import states_of
from .dtypes import ALL, DType, dtype_of, get_default_dtype, int64
from .dtypes import device as Device
from .elementary import cast_to
from .fragments import Operation, fragment_for
from .outside import outside
from .results import deliver
from .tape import force, record, tapes, unrepeatable

if TYPE_CHECKING:
    from .tensor import Tensor


DEFAULT_SEED = 67280421310721


class Generator:
    """A seed and the number of elements drawn."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = Device(device)
        self.lock = threading.Lock()
        self.state: Cell
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from `seed`, an int from -2**63 to 2**64 - 1."""
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"manual_seed expected an int of 64 bits, got {seed}")
        self.state = cell_of(np.array([_signed(seed), 0], np.int64))
        return self

    def seed(self) -> int:
        """Start anew from a seed that the system chooses, and return it."""
        self.manual_seed(int(np.random.SeedSequence().entropy) % 2**63)  # type: ignore[arg-type]
        return self.initial_seed()

    def initial_seed(self) -> int:
        """The seed, as a number that is not negative."""
        return int(force(self.state).array[0]) % 2**64  # type: ignore[index]

    def get_state(self) -> Tensor:
        """The seed and the number of elements drawn, as an int64 tensor."""
        return finished(np.array(force(self.state).array))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from what `get_state` gave."""
        if not isinstance(new_state, Core):
            raise TypeError(f"expected a torch.ByteTensor or LongTensor, but got {type(new_state).__name__}")
        kind = new_state._read().kind
        if (kind.dtype, kind.shape) != ("i64", (2,)):
            raise TypeError(f"set_state expected the int64 tensor of 2 elements that get_state gives, got {kind}")
        self.state = cell_of(np.array(new_state._array()))
        return self

    def clone_state(self) -> Generator:
        """Another generator that draws what this one would draw next."""
        return Generator().set_state(self.get_state())

    def draw(self, operation: Operation, *attributes: Any, given: Sequence[Core] = ()) -> Tensor:
        """One draw, which may depend on the tensors `given`; the state goes on."""
        cells = [tensor._read() for tensor in given]
        unrepeatable()
        with self._settled(cells):
            lanes = states_of(self.state)
            if lanes is not None:
                self.state, state = lanes
                fragment = fragment_for((operation, attributes, state.kind, *(c.kind for c in cells)))
                return wrap(record(fragment, [state, *cells])[1])
            fragment = fragment_for((operation, attributes, self.state.kind, *(c.kind for c in cells)))
            self.state, value = record(fragment, [self.state, *cells])
        return wrap(value)

    @contextmanager
    def _settled(self, cells: Sequence[Cell]) -> Iterator[None]:
        """Hold the lock, with nothing left that other threads have still to compute: they may be waiting for it."""
        serial = tapes.tape.serial
        while True:
            for cell in (self.state, *cells):
                if type(cell) is Cell and cell.array is None and cell.serial != serial:
                    force(cell)
            with self.lock:
                if type(self.state) is not Cell or self.state.array is not None or self.state.serial == serial:
                    yield
                    return


def _signed(word: int) -> int:
    return (word + 2**63) % 2**64 - 2**63


default_generator = Generator()
default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Start the random numbers anew: the same seed gives the same numbers."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the random numbers anew from a seed that the system chooses, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the random numbers started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the random numbers, for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the random numbers go on from a state that `get_rng_state` gave."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cpu") -> Iterator[None]:
    """Within, the random numbers go their own way; after it they go on as if it had not been."""
    before = default_generator.state
    try:
        yield
    finally:
        if enabled:
            default_generator.state = before


def generator_of(given: Any, name: str) -> Generator:
    """The generator that is given, or the program's."""
    if given is None:
        return default_generator
    if not isinstance(given, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be Generator, not {type(given).__name__}")
    return given


def bits_of(m: Any, state: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    after, bits = random_bits(m.b, state.value, shape=shape)
    return m(after), m(bits)


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
    kind = input._read().kind
    return rand(kind.shape, generator=generator, dtype=dtype or ALL[kind.dtype], requires_grad=requires_grad)


def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randn` in the shape and dtype of `input`."""
    kind = input._read().kind
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
    made = generator_of(generator, name).draw(INTEGERS, shape, low, high)
    return cast_to(made, dtype.code)


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
    kind = input._read().kind
    return randint(*((0, low) if high is None else (low, high)), kind.shape, generator=generator,
                   dtype=dtype or ALL[kind.dtype], requires_grad=requires_grad)  # fmt: skip


def randperm(
    n: int, *, generator: Generator | None = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers below `n` in random order."""
    made = generator_of(generator, "randperm").draw(ORDER, check_sizes((n,))[0])
    kind = dtype_of(dtype) if dtype is not None else ALL[out._read().kind.dtype] if out is not None else int64
    return finish(cast_to(made, kind.code), requires_grad, out)


def _order(m: Any, state: Any, n: int) -> Any:
    after, bits = bits_of(m, state, (n,))
    (order,) = outside(m, "randperm", lambda b: np.argsort(b, kind="stable"), [bits], [Type("i64", (n,))])
    return after, order


ORDER = Operation("randperm", "", _order)

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
