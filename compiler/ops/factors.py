"""The factors of a sum's terms go in, and how to write it with fewer products comes out: common ones outside.

    a*b*x + a*c*x + d   as [(a, b, x), (a, c, x), (d,)]      [Common((a, x), [(b,), (c,)], [0, 1]), 2]

What saves most products is taken out first, and so on within and beside it: greedy, as in Horner's scheme for several
variables (Ceberio and Kreinovich, SIGSAM Bulletin 2004). A sum that SymPy has expanded, such as an entry of a mass
matrix, has a fraction of its products then.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

LARGEST = 64
"""The most factors of a term that is compared with others, so that comparing takes linear time."""

Factors = tuple[Any, ...]


class Common(NamedTuple):
    """Factors of several terms, what is left of each of these, and the terms by their numbers."""

    factors: Factors
    left: list[Factors]
    numbers: list[int]


def by_common_factors(terms: Sequence[Factors], is_plain: Callable[[Any], bool]) -> list[Common | int]:
    """The terms by their numbers, in their order; where some have a factor in common, these as one.

    What saves most products comes first, of that what fewer terms have more of in common. Only what `is_plain` is left
    inside, symbols and numbers: a product of a sum of functions has more slopes to multiply than terms had factors.
    """
    holders = _holders(terms)
    queue = [(_order(terms, each), k, factor) for k, (factor, each) in enumerate(holders.items()) if len(each) > 1]
    heapq.heapify(queue)
    first: dict[int, Common] = {}  # by the number of its first term
    taken: set[int] = set()
    while queue:
        order, k, factor = heapq.heappop(queue)
        numbers, now = holders[factor], _order(terms, holders[factor])
        if now > order:  # some have gone into other groups since
            heapq.heappush(queue, (now, k, factor))
        elif len(numbers) > 1:
            made = _taken_out(terms, sorted(numbers), is_plain)
            if made is not None:
                first[made.numbers[0]] = made
                taken.update(made.numbers)
                for number in made.numbers:
                    for each in terms[number]:
                        holders[each].discard(number)
    return [first.get(k, k) for k in range(len(terms)) if k in first or k not in taken]


def _holders(terms: Sequence[Factors]) -> dict[Any, set[int]]:
    """The numbers of the terms that have a factor; a term of one factor alone has nothing to give away."""
    found: dict[Any, set[int]] = {}
    for number, factors in enumerate(terms):
        if 1 < len(factors) <= LARGEST:
            for factor in factors:
                found.setdefault(factor, set()).add(number)
    return found


def _order(terms: Sequence[Factors], numbers: set[int]) -> tuple[int, int]:
    """Minus the products that are saved, and how many terms there are."""
    if len(numbers) < 2:
        return 0, 0
    first, *others = [terms[k] for k in numbers]
    return -len(others) * len(set(first).intersection(*others)), len(numbers)


def _taken_out(terms: Sequence[Factors], numbers: list[int], is_plain: Callable[[Any], bool]) -> Common | None:
    """All that the terms have in common outside of them, one factor less where nothing would be left of a term."""
    lead = terms[numbers[0]]
    shared = set(lead).intersection(*[terms[k] for k in numbers[1:]])
    if any(shared.issuperset(terms[k]) for k in numbers):
        shared.discard(next((each for each in lead if each in shared and is_plain(each)), None))
    left = [tuple([each for each in terms[k] if each not in shared]) for k in numbers]
    if not shared or not all(rest and all(map(is_plain, rest)) for rest in left):
        return None
    return Common(tuple([each for each in lead if each in shared]), left, numbers)


__all__ = ["Common", "Factors", "by_common_factors"]
