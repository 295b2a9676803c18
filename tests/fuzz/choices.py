"""Random choices, of which generators make programs: the seed decides everything."""

from __future__ import annotations

from random import Random
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A source of choices."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        return self.random.randrange(count)

    def pick(self, *options: T) -> T:
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def weighted(self, weights: dict[str, int]) -> str:
        """One of the names, by their weights."""
        return self.random.choices([*weights], [*weights.values()])[0]

    def number(self) -> float:
        """A small number with three digits, which is no integer."""
        return round((self.below(40) * 2 + 1) / 20 * self.pick(1, -1) + self.below(10) / 1000, 3)
