"""Generators of random numbers: a seed, and how many numbers were drawn.

A draw is a function of the seed and of how many were drawn before.  It is made at once, so that a trace reads its
numbers as it reads other data; in the lanes of `vmap`, where each may have its own, it is a part of the trace.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .....compiler.frontend.state import frozen
from .....compiler.ops.random import random_bits
from ...trace.fragments import Operation, fragment_for
from ...trace.tape import force, record, tapes, unrepeatable
from ...transforms.crossings import states_of
from ...transforms.lanes import open_levels
from ...value.cells import NAMES, Cell, cell_of, kind_of
from ...value.core import Core, wrap
from ...value.dtypes import device as Device
from ..arranging.creation import finished

if TYPE_CHECKING:
    from ...face.tensor import Tensor


DEFAULT_SEED = 67280421310721

STATE = kind_of("i64", (2,))


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

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self.device, "state": np.array(force(self.state).array)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["device"])
        self.state = cell_of(state["state"])

    def draw(
        self, operation: Operation, shape: tuple[int, ...], *attributes: Any, given: Sequence[Core] = ()
    ) -> Tensor:
        """Numbers of this shape, which may depend on the tensors `given`, of that shape or of none."""
        if open_levels():
            return self._recorded(operation, (shape, *attributes), given)
        unrepeatable()
        arrays: list[Any] = [force(tensor._read()).array for tensor in given]
        arrays = [array if array.ndim == 0 else array.reshape(-1) for array in arrays]
        made = self._drawn(operation, shape, attributes, arrays)
        return wrap(cell_of(made if len(shape) == 1 else made.reshape(shape)))

    def bits(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """As many ints of 64 random bits, or None in lanes."""
        if open_levels():
            return None
        unrepeatable()
        return self._drawn(BITS, shape, (), ()).reshape(shape)

    def _drawn(
        self, operation: Operation, shape: tuple[int, ...], attributes: tuple[Any, ...], given: Sequence[Any]
    ) -> np.ndarray:
        """The numbers in a row: draws of one size share their code, whatever their shape."""
        kinds = [kind_of(NAMES[array.dtype], array.shape) for array in given]
        fragment = fragment_for((operation, ((prod(shape),), *attributes), STATE, *kinds))
        alone = fragment.alone
        while True:
            state = force(self.state)
            with self.lock:
                if self.state is not state:
                    continue  # another thread has drawn
                arrays = [state.array, *given]
                made = alone.quick(arrays) if alone.quick is not None else None
                after, numbers = made if type(made) is list else alone.run(arrays)  # type: ignore[arg-type]
                self.state = Cell(STATE, after)
                return numbers

    def _recorded(self, operation: Operation, attributes: tuple[Any, ...], given: Sequence[Core]) -> Tensor:
        """The draw as a part of the trace."""
        cells = [tensor._read() for tensor in given]
        unrepeatable()
        with self._settled(cells):
            lanes = states_of(self.state)
            if lanes is not None:
                self.state, state = lanes
                fragment = fragment_for((operation, attributes, state.kind, *(c.kind for c in cells)))
                return wrap(record(fragment, [state, *cells])[1])
            fragment = fragment_for((operation, attributes, STATE, *(c.kind for c in cells)))
            self.state, made = record(fragment, [self.state, *cells])
        return wrap(made)

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


def bits_of(m: Any, state: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    after, bits = random_bits(m.b, state.value, shape=shape)
    return m(after), m(bits)


BITS = Operation("bits", "", bits_of)


def _signed(word: int) -> int:
    return (word + 2**63) % 2**64 - 2**63


default_generator = Generator()
default_generator.seed()


def _set(state: Cell) -> None:
    default_generator.state = state


frozen.OWN.add(Generator)
frozen.SHARED.append((lambda: default_generator.state, _set, default_generator.state))


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


__all__ = [
    "DEFAULT_SEED", "Generator", "bits_of", "default_generator", "fork_rng", "generator_of", "get_rng_state",
    "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip
