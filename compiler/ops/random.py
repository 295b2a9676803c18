"""Counter-based random bits: a draw is a function of a seed and a position, so any element can be made alone.

The generator is Threefry-2x64 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
1, 2, 3", SC11).  A state is i64[2]: the seed and the number of elements drawn so far.  Of many states, i64[n,2], each
draws its own: the first axes of the bits are those of the states.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..ir.primitive import Primitive
from ..ir.types import Type
from ..loops import Affine, Apply, Map, Number, Position, element, linear

ROTATIONS = (16, 42, 12, 31, 16, 32, 24, 21)
PARITY = 0x1BD11BDAA9FC1A22
ROUNDS = 20


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


class RandomBits(Primitive):
    """(state) -> (next state, i64 of `shape` with all 64 bits random)."""

    arity = 1
    attributes: ClassVar = {"shape": "dimensions"}
    exact = True
    cost = 100

    def infer(self, types, attrs, regions):
        lead = types[0].shape[:-1] if len(types) == 1 else ()
        if list(types) != [Type("i64", (*lead, 2))] or attrs["shape"][: len(lead)] != lead:
            raise TypeError(f"random_bits takes a state i64[2], or one a row, got {list(types)} for {dict(attrs)}")
        return (types[0], Type("i64", attrs["shape"]))

    def evaluate(self, args, attrs, regions):
        states = np.ascontiguousarray(args[0]).view(np.uint64)
        seed, drawn = states[..., :1], states[..., 1:]
        n = math.prod(attrs["shape"][states.ndim - 1 :])
        with np.errstate(over="ignore"):
            counter = np.arange(n, dtype=np.uint64) + drawn
            key = (seed, np.uint64(0), seed ^ np.uint64(PARITY))
            x, y = counter + key[0], np.zeros(counter.shape, np.uint64) + key[1]
            for r in range(ROUNDS):
                x = x + y
                turn = np.uint64(ROTATIONS[r % 8])
                y = ((y << turn) | (y >> (np.uint64(64) - turn))) ^ x
                if r % 4 == 3:
                    s = r // 4 + 1
                    x, y = x + key[s % 3], y + (key[(s + 1) % 3] + np.uint64(s))
            after = np.concatenate([seed, drawn + np.uint64(n)], axis=-1)
        return [after.view(np.int64), x.view(np.int64).reshape(attrs["shape"])]

    def define(self, op, reads):
        lead = len(op.args[0].type.shape) - 1
        shape = op.attrs["shape"][lead:]
        n = math.prod(shape)

        def word(index, which):
            return reads[0]([*index[:lead], Affine((), which)])

        def state(index):
            here = element(index[lead])
            step = _i64("select", Apply("eq", (here, Number(1, "i64")), "bool"), n, 0)
            return _i64("add", reads[0](index), step)

        def bits(index):
            counter = word(index, 1)
            for i, stride in linear(index[lead:], shape):
                if isinstance(i, Affine):
                    counter = _i64("add", counter, Position(i * stride))
                else:
                    counter = _i64("add", counter, _i64("mul", i, stride))
            return _threefry(word(index, 0), counter)

        return (Map(state), Map(bits))

    def pull(self, b, op, cotangents):
        return [None]

    def batch(self, m):
        return m.emit(self, m.args[0], shape=(m.size, *m.op.attrs["shape"]))

    def samples(self, rng):
        state = rng.integers(0, 2**62, 2)
        states = rng.integers(0, 2**62, (3, 2))
        return [([state], {"shape": s}) for s in ((), (7,), (3, 40))] + [([states], {"shape": (3, 5)})]


def _i64(spelling, *args):
    return Apply(spelling, tuple(Number(a, "i64") if isinstance(a, int) else a for a in args), "i64")


def _threefry(seed, counter):
    key = (seed, Number(0, "i64"), _i64("xor", seed, _signed(PARITY)))
    x, y = _i64("add", counter, key[0]), Number(0, "i64")
    for r in range(ROUNDS):
        x = _i64("add", x, y)
        turn = ROTATIONS[r % 8]
        y = _i64("xor", _i64("or_", _i64("shl", y, turn), _i64("lshr", y, 64 - turn)), x)
        if r % 4 == 3:
            s = r // 4 + 1
            x = _i64("add", x, key[s % 3])
            y = _i64("add", y, _i64("add", key[(s + 1) % 3], s))
    return x


random_bits = RandomBits("random_bits")
