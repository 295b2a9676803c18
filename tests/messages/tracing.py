"""Functions that cannot be traced."""

import math
import random
import time
from typing import Any

import numpy as np

from pullback import grad, jit

V, M = np.ones(3), np.ones((3, 2))
HALF: Any = 0.5
SEEN: list[Any] = []
OUTSIDE = np.zeros(3)
TABLE: dict[str, Any] = {}
RNG = np.random.default_rng(0)
ITEMS = iter([1.0, 2.0, 3.0, 4.0])


class Model:
    """Something to leave traces in."""

    last: Any = None


MODEL = Model()


def stores(x: Any) -> Any:
    x[0] = 0.0
    return np.sum(x)


def adds(x: Any) -> Any:
    x += 1.0
    return np.sum(x)


def stores_outside(x: Any) -> Any:
    OUTSIDE[0] = x[0]
    return np.sum(x)


def appends(x: Any) -> Any:
    SEEN.append(x)
    return np.sum(x)


def keeps(x: Any) -> Any:
    MODEL.last = x
    return np.sum(x)


def enters(x: Any) -> Any:
    TABLE["x"] = x
    return np.sum(x)


def globally(x: Any) -> Any:
    global OUTSIDE
    OUTSIDE = x
    return np.sum(x)


def sorts_in_place(x: Any) -> Any:
    x.sort()
    return np.sum(x)


def fills(x: Any) -> Any:
    x.fill(0.0)
    return np.sum(x)


def reads_a_file(x: Any) -> Any:
    with open(__file__, encoding="utf-8") as file:
        return np.sum(x) * len(file.read())


CASES = {
    "a store into an argument": lambda: grad(stores)(V),
    "an addition into an argument": lambda: grad(adds)(V),
    "a store outside": lambda: grad(stores_outside)(V),
    "an append outside": lambda: grad(appends)(V),
    "an attribute outside": lambda: grad(keeps)(V),
    "an entry outside": lambda: grad(enters)(V),
    "a global": lambda: grad(globally)(V),
    "a sort in place": lambda: grad(sorts_in_place)(V),
    "a fill in place": lambda: grad(fills)(V),
    "a file": lambda: grad(reads_a_file)(V),
    "numbers drawn": lambda: grad(lambda x: np.sum(x * RNG.normal(size=3)))(V),
    "numbers drawn by numpy": lambda: grad(lambda x: np.sum(x * np.random.rand(3)))(V),
    "numbers drawn by random": lambda: grad(lambda x: np.sum(x) * random.random())(V),
    "a clock": lambda: grad(lambda x: np.sum(x) * time.time())(V),
    "an iterator": lambda: grad(lambda x: np.sum(x) * next(ITEMS))(V),
    "an index that is an array of floats": lambda: jit(lambda x: V[x])(V),
    "an index beyond": lambda: jit(lambda x: x[3])(V),
    "an index of too many": lambda: jit(lambda x: x[0, 0])(V),
    "an index that is a text": lambda: jit(lambda x: x["a"])(V),
    "a slice by zero": lambda: jit(lambda x: x[::0])(V),
    "an attribute that is none": lambda: jit(lambda x: x.shpae)(V),
    "a method that is none": lambda: jit(lambda x: x.tanh())(V),
    "iteration over a scalar": lambda: jit(lambda x: list(x))(1.0),
    "length of a scalar": lambda: jit(lambda x: len(x))(np.float64(1.0)),
    "truth of an array": lambda: jit(lambda x: 1.0 if x > 0.0 else 2.0)(V),
    "bytes": lambda: jit(lambda x: np.sum(np.frombuffer(x.tobytes())))(V),
    "where with two arguments": lambda: jit(lambda x: np.where(x > 0.0, x))(V),
    "packbits": lambda: jit(lambda x: np.packbits(x))(V),
    "an object array": lambda: jit(lambda x: np.array([x, None]))(1.0),
    "longdouble by astype": lambda: jit(lambda x: x.astype(np.longdouble))(V),
    "a dtype that is none": lambda: jit(lambda x: x.astype("float65"))(V),
    "a text in arithmetic": lambda: jit(lambda x: x + "a")(V),
    "None in arithmetic": lambda: jit(lambda x: x * None)(V),
    "a dict in arithmetic": lambda: jit(lambda x: x * {})(V),
    "comparison with a text": lambda: jit(lambda x: x < "a")(V),
    "math of an array": lambda: jit(lambda x: math.sin(x))(V),
    "shapes in a sum": lambda: jit(lambda x: x + np.ones(2))(V),
    "shapes in a product": lambda: jit(lambda x: x @ np.ones(2))(V),
    "shapes in dot": lambda: jit(lambda x: np.dot(x, np.ones((2, 2))))(V),
    "reshape to another size": lambda: jit(lambda x: x.reshape(2, 2))(V),
    "reshape with two unknowns": lambda: jit(lambda x: x.reshape(-1, -1))(V),
    "an axis beyond": lambda: jit(lambda x: np.sum(x, axis=1))(V),
    "an axis twice": lambda: jit(lambda x: np.sum(x, axis=(0, 0)))(M),
    "an axis that is a float": lambda: jit(lambda x: np.sum(x, axis=HALF))(V),
    "transpose of another rank": lambda: jit(lambda x: np.transpose(x, (0, 1)))(V),
    "concatenate of other ranks": lambda: jit(lambda x: np.concatenate([x, np.ones((2, 2))]))(V),
    "concatenate of nothing": lambda: jit(lambda x: np.concatenate([]) + x)(V),
    "stack of other shapes": lambda: jit(lambda x: np.stack([x, np.ones(2)]))(V),
    "broadcast to another shape": lambda: jit(lambda x: np.broadcast_to(x, (2,)))(V),
    "einsum of other letters": lambda: jit(lambda x: np.einsum("ij,jk", x, x))(V),
    "einsum of other sizes": lambda: jit(lambda x: np.einsum("i,i", x, np.ones(2)))(V),
    "a matrix that is not square": lambda: jit(lambda x: np.linalg.inv(x))(M),
    "solve of other sizes": lambda: jit(lambda x: np.linalg.solve(np.eye(2), x))(V),
    "cholesky of a vector": lambda: jit(lambda x: np.linalg.cholesky(x))(V),
    "a maximum of nothing": lambda: jit(lambda x: np.max(x[:0]))(V),
    "split into unequal parts": lambda: jit(lambda x: np.split(x, 2))(V),
    "squeeze of a long axis": lambda: jit(lambda x: np.squeeze(x, 0))(V),
    "take beyond": lambda: jit(lambda x: np.take(x, 7))(V),
    "an unknown option": lambda: jit(lambda x: np.sum(x, axes=0))(V),  # type: ignore[call-overload]
    "out within": lambda: jit(lambda x: np.add(x, 1.0, out=OUTSIDE))(V),
    "kind of a sort": lambda: jit(lambda x: np.sort(x, kind="bogo"))(V),  # type: ignore[call-overload]
    "a quantile beyond": lambda: jit(lambda x: np.quantile(x, 2.0))(V),
    "division by zero": lambda: jit(lambda x: 1.0 / x)(0.0),
    "an int that is too large": lambda: jit(lambda x: x)(2**70),
    "an assertion": lambda: jit(asserted)(-1.0),
    "an error of the user's": lambda: jit(raising)(-1.0),
}


def asserted(x: Any) -> Any:
    assert x > 0.0, f"x is {x}"
    return x


def raising(x: Any) -> Any:
    if x < 0.0:
        raise ValueError(f"x must not be negative, got {x}")
    return x
