"""On how many threads compiled functions run."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from ...compiler.backend import threads


def set_num_threads(count: SupportsIndex) -> None:
    """Let compiled functions run on up to `count` threads, the calling one included, in this process.

        >>> import pullback
        >>> pullback.set_num_threads(1)
        >>> pullback.get_num_threads()
        1

    It holds for calls that begin from now on, in every Python thread. Results have the same bits for every number. Only
    work that takes longer than some 20 microseconds is shared out; when several Python threads call compiled functions
    at the same moment, one call is shared out and the others run on their own threads.

    Without it the number is that of the variable PULLBACK_NUM_THREADS, else of OMP_NUM_THREADS, else that of the
    processors this process may use. It does not touch the threads of NumPy's own operations.
    """
    most = threads.MOST_THREADS
    try:
        number = 0 if isinstance(count, bool) else operator.index(count)
    except TypeError:
        raise TypeError(
            f"set_num_threads: count is of class {type(count).__name__}, expected an int from 1 to {most}") from None
    if not 1 <= number <= most:
        raise ValueError(f"set_num_threads: count is {count!r}, expected an int from 1 to {most}"
                         " (pullback.set_num_threads(1) keeps all work on the calling thread)")
    threads.set_num_threads(number)


def get_num_threads() -> int:
    """On how many threads a call of a compiled function may run, the calling one included; see `set_num_threads`."""
    return threads.get_num_threads()


__all__ = ["get_num_threads", "set_num_threads"]
