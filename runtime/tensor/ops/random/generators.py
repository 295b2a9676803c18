"""Generators of random numbers: PyTorch's on the processor, bit for bit, as sources of tensors.

A draw is made at once, so that a trace reads its numbers as it reads other data. In the lanes of `vmap`, where each may
have its own, the numbers of all lanes are drawn together, the lanes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from .....compiler.frontend.state import frozen
from .....compiler.ir.types import HALVES
from .....compiler.locks import lock
from .....compiler.ops.casting import astype
from ...trace.tape import force, unrepeatable
from ...transforms.crossings import drawing_levels, of_lanes, over_lanes
from ...transforms.lanes import open_levels
from ...value.cells import cell_of
from ...value.core import Core, wrap
from ...value.dtypes import device as Device
from ..arranging.creation import finished
from .twister import BYTES, State, Twister

Law = Callable[..., np.ndarray]

DEFAULT_SEED = 67280421310721


def _as_single(x: Any) -> Any:
    return astype(x, "f32") if isinstance(x, np.ndarray) and x.dtype in HALVES.values() else x


class Generator:
    """A source of random numbers that a lock protects; all that they depend on is the seed and what was drawn."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = Device(device)
        self.lock = lock()
        self.source = Twister(DEFAULT_SEED)
        self._state: State | None = None

    @property
    def state(self) -> State:
        """Where it is: the same object as long as nothing is drawn."""
        state = self._state
        if state is None:
            with self.lock:
                state = self._state = self.source.state()
        return state

    @state.setter
    def state(self, state: State) -> None:
        with self.lock:
            self.source.go_to(state)
            self._state = state

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from `seed`, an int from -2**63 to 2**64 - 1, of which the lowest 32 bits count."""
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"manual_seed expected an int of 64 bits, got {seed}")
        with self.lock:
            self._state = None
            self.source.seed(seed % 2**64)
        return self

    def seed(self) -> int:
        """Start anew from a seed that the system chooses, and return it."""
        self.manual_seed(int(np.random.SeedSequence().entropy) % 2**53)  # type: ignore[arg-type]
        return self.initial_seed()

    def initial_seed(self) -> int:
        """The seed, as a number that is not negative."""
        return self.source.initial

    def get_state(self) -> Any:
        """The state as a tensor of 5056 bytes, which PyTorch's generator takes too."""
        with self.lock:
            return finished(self.source.packed())

    def set_state(self, new_state: Core) -> Generator:
        """Go on from what `get_state` gave, here or in PyTorch."""
        if not isinstance(new_state, Core):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        kind = new_state._kind_of()
        if kind.dtype != "u8":
            raise TypeError(f"RNG state must be a torch.ByteTensor, got a tensor of {new_state.dtype}; {WAY}")
        if kind.shape != (BYTES,):
            raise RuntimeError(f"set_state: expected a tensor of {BYTES} bytes, got the shape {kind.shape}; {WAY}")
        data = new_state._array().tobytes()
        with self.lock:
            try:
                self.source.unpack(data)
            except ValueError as error:
                raise RuntimeError(f"set_state: {error}; {WAY}") from None
            self._state = None
        return self

    def clone_state(self) -> Generator:
        """Another generator that draws what this one would draw next."""
        made = Generator(self.device)
        made.state = self.state
        return made

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            return {"device": self.device, "state": self.source.packed().tobytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["device"])
        self.source.unpack(state["state"])

    def row(self, law: Law, n: int, *numbers: Any) -> np.ndarray:
        """An array of `law(source, n, *numbers)`; floats of 16 bits are drawn as f32, and rounded."""
        unrepeatable()
        half = next((x for x in numbers if type(x) is str and x in HALVES), "")
        if half:
            numbers = tuple(["f32" if x is half else _as_single(x) for x in numbers])
        with self.lock:
            self._state = None
            made = law(self.source, n, *numbers)
        return astype(made, half) if half else made

    def draw(self, law: Law, shape: tuple[int, ...], *numbers: Any) -> Any:
        """The tensor of this shape that `law(source, count, *numbers)` gives the elements of."""
        levels = drawing_levels() if open_levels() else ()
        whole = (*[level.size for level in levels], *shape) if levels else shape
        made = self.row(law, prod(whole), *numbers)
        cell = cell_of(made if len(whole) == 1 else made.reshape(whole))
        return wrap(of_lanes(cell, levels) if levels else cell)

    def draw_from(self, law: Law, shape: tuple[int, ...], given: Sequence[Core], *numbers: Any) -> Any:
        """The same of `law(source, count, *numbers, *arrays)`, where tensors that broadcast to the shape are given."""
        levels: Any = []
        if open_levels():
            cells, levels = over_lanes([tensor._read() for tensor in given])
            found: list[Any] = [force(cell).array for cell in cells]
        else:
            found = [tensor._array() for tensor in given]  # a look like any other: nodes are not wanted for it
        sizes = tuple([level.size for level in levels])
        whole = (*sizes, *shape)
        arrays: list[Any] = []
        for array in found:
            ones = (1,) * (len(whole) - array.ndim)
            array = array.reshape((*sizes, *ones, *array.shape[len(sizes) :]))
            arrays.append(np.broadcast_to(array, whole).reshape(-1))
        made = self.row(law, prod(whole), *numbers, *arrays)
        return wrap(of_lanes(cell_of(made.reshape(whole)), levels))


WAY = "states of get_state() and of PyTorch's CPU generator have this form, those of older versions of pullback do not"

default_generator = Generator()
default_generator.seed()


def _set(state: State) -> None:
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


def get_rng_state() -> Any:
    """The state of the random numbers, for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(new_state: Core) -> None:
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
    "DEFAULT_SEED", "Generator", "default_generator", "fork_rng", "generator_of", "get_rng_state",
    "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip
