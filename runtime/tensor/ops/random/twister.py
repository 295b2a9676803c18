"""Words of 32 random bits from the Mersenne Twister (MT19937), and its state as PyTorch writes it.

    source = Twister(0)
    source.words(3)              uint32: 2357136044, 2546248239, 3071714933
    source.floats(2)             float32 in [0, 1): the low 24 bits of a word each
    source.doubles(2)            float64 in [0, 1): the low 53 bits of two words each, the first of them the higher
    source.packed(seed)          5056 bytes, which PyTorch's generator takes as its state

The generator is that of Matsumoto and Nishimura (1998), seeded as in their program of 2002; its words come from NumPy.
Some thousands are made in advance: what a training step draws is mostly a slice of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

N = 624
"""Words that the generator makes at a time."""
CHUNK = 64 * N
"""So many numbers are worked on at a time, which stay in the cache."""
AHEAD = 4 * N
"""So many words are made in advance."""
HEAD, TAIL = struct.Struct("<QiiQ"), struct.Struct("<dddi4xfB3x")
BYTES = HEAD.size + 8 * N + TAIL.size


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """Where a generator is: its seed, the 624 words that it is among (None right after seeding), how many of them were
    drawn, whether it was seeded since, and the second number of a pair of normal ones. A state equals itself only.
    """

    seed: int
    block: np.ndarray | None
    at: int
    fresh: bool
    normal: float | None


class Twister:
    """A source of words.

    made     words that NumPy's generator has made, of which `at` were drawn, and as float32
    fresh    whether it was seeded, or given a state as after seeding, and nothing was drawn since
    behind   whether NumPy's generator is not yet where the last of the words is
    normal   the second number of a pair of normal ones that is still to be handed out
    """

    __slots__ = ("at", "behind", "bits", "fresh", "initial", "made", "many", "normal", "old", "units")

    made: np.ndarray | None
    units: np.ndarray | None
    normal: float | None

    def __init__(self, seed: int) -> None:
        self.bits = np.random.MT19937(0)
        self.old, self.many = np.random.RandomState(self.bits), np.random.Generator(self.bits)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start anew; the lowest 32 bits count."""
        self.old.seed(seed & 0xFFFFFFFF)
        self.initial, self.made, self.at, self.fresh = seed, None, 0, True
        self.behind, self.units, self.normal = False, None, None

    # ---- drawing

    def _left(self) -> int:
        return 0 if self.made is None else len(self.made) - self.at

    def _more(self) -> np.ndarray:
        """Further words in place of those that were made before."""
        if self.behind:
            self._catch_up()
        made = self.made = self.bits.random_raw(AHEAD).astype(np.uint32)  # type: ignore[union-attr]
        self.at, self.fresh, self.units = 0, False, None
        return made

    def words(self, n: int) -> np.ndarray:
        """The next words, which nobody may write over."""
        start, left = self.at, self._left()
        if n <= left and self.made is not None:
            self.at = start + n
            return self.made[start : self.at]
        row = np.empty(n, np.uint32)
        if self.made is not None:
            row[:left] = self.made[start:]
            self.at = start + left
        whole = (n - left) // N * N
        if n - left > AHEAD:
            if self.behind:
                self._catch_up()
            row[left : left + whole] = self.many.integers(0, 2**32, whole, np.uint32)
            left += whole
            self.made, self.at, self.fresh, self.units = row[left - N : left].copy(), N, False, None
        if left < n:
            row[left:] = self._more()[: n - left]
            self.at = n - left
        return row

    def floats(self, n: int) -> np.ndarray:
        """The next float32 in [0, 1)."""
        if n <= AHEAD:
            left = self._left()
            if 0 < n <= left or (n and not left):
                made = self.made if left else self._more()
                if self.units is None:
                    self.units = _units(made)  # type: ignore[arg-type]
                start, self.at = self.at, self.at + n
                return self.units[start : self.at].copy()
        row = np.empty(n, np.float32)
        for k in range(0, n, CHUNK):
            row[k : k + CHUNK] = _units(self.words(min(CHUNK, n - k)))
        return row

    def pairs(self, n: int) -> np.ndarray:
        """Two words for each of n numbers, [n, 2]."""
        return self.words(2 * n).reshape(n, 2)

    def doubles(self, n: int) -> np.ndarray:
        """The next float64 in [0, 1)."""
        made = np.empty(n, np.float64)
        for k in range(0, n, CHUNK):
            pairs = self.pairs(min(CHUNK, n - k))
            part = made[k : k + CHUNK]
            np.multiply(pairs[:, 0] & np.uint32(0x1FFFFF), 2.0**-21, out=part)
            part += pairs[:, 1] * 2.0**-53
        return made

    def long_words(self, n: int) -> np.ndarray:
        """The next uint64, of two words each, the first of them the higher."""
        pairs = self.pairs(n).astype(np.uint64)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    # ---- states

    def state(self) -> State:
        """Where it is. That copies nothing: words are replaced by others, and never written to."""
        if self.made is None:
            return State(self.initial, None, 0, self.fresh, self.normal)
        start = max(self.at - 1, 0) // N * N
        return State(self.initial, self.made[start : start + N], self.at - start, self.fresh, self.normal)

    def go_to(self, state: State) -> None:
        """Go on from a state."""
        if state.block is None:
            self.seed(state.seed)
        else:
            self.initial, self.made, self.at = state.seed, state.block, state.at
            self.fresh, self.normal = state.fresh, state.normal
            self.behind, self.units = True, None

    def _catch_up(self) -> None:
        """Let NumPy's generator be at the end of the last words."""
        self._put(_untempered(self.made[-N:]), N)  # type: ignore[index]
        self.behind = False

    def _put(self, key: Any, at: int) -> None:
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": at}}

    def packed(self) -> np.ndarray:
        """The state as bytes, in the order in which PyTorch's generator has it in memory."""
        state = self.state()
        block, at, normal = state.block, state.at, state.normal
        key: Any = self.bits.state["state"]["key"] if block is None else _untempered(block)
        left, after = (1, 0) if state.fresh else (N + 1 - at, at)
        head = HEAD.pack(self.initial % 2**64, left, 1, after)
        tail = TAIL.pack(0.0, normal or 0.0, 0.0, normal is not None, 0.0, 0)
        return np.frombuffer(bytearray(head + key.astype("<u8").tobytes() + tail), np.uint8)

    def unpack(self, data: bytes) -> None:
        """Go on from such bytes. Raises ValueError if they are no generator's state."""
        seed, left, seeded, after = HEAD.unpack_from(data)
        key = np.frombuffer(data, "<u8", N, HEAD.size)
        _, normal, _, valid, _, _ = TAIL.unpack_from(data, HEAD.size + 8 * N)
        fresh = (left, after) == (1, 0)
        if seeded != 1 or not (fresh or (1 <= after <= N and left == N + 1 - after)) or (key >> np.uint64(32)).any():
            raise ValueError("the bytes are no state of this generator")
        self._put(key.astype(np.uint32), 0)
        self.made = self.bits.random_raw(N).astype(np.uint32)  # type: ignore[union-attr]
        self.initial, self.at, self.fresh, self.behind = seed, N if fresh else after, fresh, False
        self.units, self.normal = None, normal if valid else None


def _units(words: np.ndarray) -> np.ndarray:
    made = (words.view(np.int32) & np.int32(0xFFFFFF)).astype(np.float32)
    made *= np.float32(2.0**-24)
    return made


def _untempered(block: Any) -> np.ndarray:
    """What the words were made of: the four steps of tempering backwards."""
    y = block ^ (block >> np.uint32(18))
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    found = y
    for _ in range(4):  # each round has 7 more bits right
        found = y ^ ((found << np.uint32(7)) & np.uint32(0x9D2C5680))
    y, found = found, found
    for _ in range(2):
        found = y ^ (found >> np.uint32(11))
    return found
