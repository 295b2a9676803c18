"""Points that fill a cube evenly, one draw after the other: Sobol's sequence, with PyTorch's numbers.

    engine = torch.quasirandom.SobolEngine(3, scramble=True, seed=0)
    engine.draw(8)        float32[8, 3]

Direction numbers are those of Joe and Kuo (2008), which SciPy has; the scrambling is Owen's, by random matrices.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..interop.packages import quasi_monte_carlo
from ..tensor.face.functions import Generator, cat, from_numpy, randint
from ..tensor.face.tensor import Tensor
from ..tensor.value.dtypes import float32, float64, get_default_dtype


class SobolEngine:
    """A Sobol sequence of points in [0, 1) of so many dimensions; SciPy must be there.

    dimension       at most 21201
    scramble        whether the points are scrambled, by numbers of the default generator or of one seeded by `seed`

    ValueError: a dimension that is none.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        plain = quasi_monte_carlo().Sobol(dimension, scramble=False, bits=self.MAXBIT)
        directions, shift = plain._sv.astype(np.int64), np.zeros(dimension, np.int64)
        if scramble:
            directions, shift = self._scrambled(directions)
        self.sobolstate, self.shift = from_numpy(directions), from_numpy(shift)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scrambled(self, directions: Any) -> tuple[Any, Any]:
        """Direction numbers times random triangular matrices of bits, and random bits to add."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits, size = self.MAXBIT, self.dimension
        shift = randint(2, (size, bits), generator=generator).numpy() @ (1 << np.arange(bits))
        drawn = np.tril(randint(2, (size, bits, bits), generator=generator).numpy(), -1) + np.eye(bits, dtype=np.int64)
        places = 1 << np.arange(bits)[::-1]
        made = np.zeros_like(directions)
        for row, place in zip(np.moveaxis(drawn @ places, 1, 0), places, strict=True):
            made += (np.bitwise_count(row[:, None] & directions) & 1).astype(np.int64) * place
        return made, shift

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """The next `n` points, [n, dimension], of the default dtype, float32 or float64."""
        dtype = get_default_dtype() if dtype is None else dtype
        if dtype not in (float32, float64):
            raise NotImplementedError(f"SobolEngine.draw makes points of float32 and float64, not of {dtype}")
        first = self.num_generated == 0
        if n < first:
            raise RuntimeError(f"SobolEngine.draw takes a number of points{', at least one at first' * first}, got {n}")
        result = from_numpy(self._following(n - first) / 2**self.MAXBIT).to(dtype)
        result = cat((self._first_point.to(dtype), result), dim=-2) if first else result
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def _following(self, n: int) -> Any:
        """The bits of `n` points behind the one that was last, which the last of them becomes."""
        start = max(self.num_generated - 1, 0)
        numbers = np.arange(start, start + n)
        changed = np.bitwise_count(numbers & ~(numbers + 1)).astype(np.int64)  # the place of the lowest zero
        steps = self.sobolstate.numpy().T[changed]
        points = np.bitwise_xor.accumulate(np.concatenate([self.quasi.numpy()[None], steps]), axis=0)
        self.quasi = from_numpy(points[-1].copy())
        return points[1:]

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next 2**m points; ValueError if with them the number of all is no power of two."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2."
                f" {self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}"
                f"={total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> Self:
        """Begin again."""
        self.quasi, self.num_generated = self.shift.clone(), 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Go on as if `n` points had been drawn: a point is the sum of directions by the bits of its Gray code."""
        start = max(self.num_generated - 1, 0)
        end = self.num_generated + n - 1
        changed = (start ^ start >> 1) ^ (end ^ end >> 1)
        chosen = self.sobolstate.numpy()[:, [k for k in range(self.MAXBIT) if changed >> k & 1]]
        self.quasi = from_numpy(self.quasi.numpy() ^ np.bitwise_xor.reduce(chosen, axis=1))
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        said = [f"dimension={self.dimension}", *["scramble=True"] * self.scramble]
        return f"SobolEngine({', '.join([*said, *([] if self.seed is None else [f'seed={self.seed}'])])})"


__all__ = ["SobolEngine"]
