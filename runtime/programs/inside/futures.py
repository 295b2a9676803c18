"""`torch.futures`: a result that may come later, from another thread, and what is to be done with it.

    future = Future()
    doubled = future.then(lambda f: f.value() * 2)
    future.set_result(3)                                doubled.wait() is 6
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A result that may come later."""

    def __init__(self, *, devices: Any = None) -> None:
        self._came, self._lock = threading.Event(), threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def done(self) -> bool:
        """Whether the result, or an error, is there."""
        return self._came.is_set()

    def wait(self) -> T:
        """The result, once it is there; an error in its place is raised."""
        self._came.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def value(self) -> T:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("Future.value(): the result is not there yet; use wait()")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Give the result, once."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Give an error in place of the result."""
        if not isinstance(result, BaseException):
            raise TypeError(f"set_exception: expected an exception, got {type(result).__name__}")
        self._set(None, result)

    def _set(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once: the result is there already")
            self._result, self._error = result, error
            self._came.set()
            waiting, self._callbacks = self._callbacks, []
        for call in waiting:
            call(self)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this future once the result is there; now, if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of what a function of this future returns."""
        made = Future[Any]()

        def call(future: Future[T]) -> None:
            try:
                made.set_result(callback(future))
            except Exception as error:
                made.set_exception(error)

        self.add_done_callback(call)
        return made


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of these futures, which is there once all of them are."""
    made, left, lock = Future[Any](), [len(futures)], threading.Lock()
    if not futures:
        made.set_result([])

    def one(_: Any) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            made.set_result(list(futures))

    for future in futures:
        future.add_done_callback(one)
    return made


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of these futures, once all are there."""
    return [future.wait() for future in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
