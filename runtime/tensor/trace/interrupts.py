"""Whether an error is one of the compiler, or came from a handler of signals that ran in the middle of it."""

from __future__ import annotations

import signal
from traceback import walk_tb


def is_of_a_handler(error: BaseException) -> bool:
    """Whether a handler of signals raised the error: then it is the user's."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(getattr(each, "__func__", each), "__code__", None) for each in handlers}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


__all__ = ["is_of_a_handler"]
