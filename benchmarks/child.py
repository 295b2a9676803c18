"""One measurement in a process of its own: seconds from a new function to its first gradient.

    python child.py NAME pullback|jax
    python child.py long_time limited|unlimited|NumPy STEPS seconds|bytes
    python child.py tensor_chain pullback|torch OPERATIONS seconds|bytes

Libraries are loaded and have compiled something small before; prints the seconds, then the sum of every gradient. A
name that ends with "unrolled" is a function whose source cannot be found, so that its loop is written out.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
import peers
from cases import long_time, mixture, soft_dtw, tensor_recording, transformer

import pullback

Problem = tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]]
"""A function, the arguments it is differentiated in, and all arguments."""


def ten(x, y):
    a = np.sin(x) * y + np.exp(-x * x)
    b = np.log(a * a + 1.0) / (y + 2.0)
    return np.tanh(b) + np.sqrt(a * a + b * b)


def pendulum(operations: int) -> Callable[..., Any]:
    """A pendulum's path written out step by step: six operations each."""

    def last_angle(angle, speed, length):
        pull = 9.81 / length
        for _ in range(operations // 6):
            speed = speed - 0.001 * (pull * np.sin(angle))
            angle = angle + 0.001 * speed
        return angle

    return last_angle


def swing(angle, speed, length):
    """A pendulum after 800 steps of the midpoint method."""
    for _ in range(800):
        pull = 9.81 / length
        there, then = angle + 0.005 * speed, speed - 0.005 * pull * np.sin(angle)
        angle, speed = angle + 0.01 * then, speed - 0.01 * pull * np.sin(there)
    return angle


def without_source(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, as if it had been typed into `exec`."""
    names: dict[str, Any] = {"np": np}
    exec(inspect.getsource(function), names)
    return names[function.__name__]


def swing_of_jax(jax: Any) -> Callable[..., Any]:
    def function(angle, speed, length):
        def step(state, _):
            angle, speed = state
            pull = 9.81 / length
            there, then = angle + 0.005 * speed, speed - 0.005 * pull * jax.numpy.sin(angle)
            return (angle + 0.01 * then, speed - 0.01 * pull * jax.numpy.sin(there)), None

        return jax.lax.scan(step, (angle, speed), None, length=800)[0][0]

    return function


OF_JAX: dict[str, Callable[[Any], Callable[..., Any]]] = {"swing": swing_of_jax, "soft_dtw": soft_dtw.by_jax}
"""Functions that jax wants written in its own way."""


def problem(name: str) -> Problem:
    if name == "swing":
        return swing, (0, 1, 2), (0.5, 0.1, 1.2)
    if name == "swing, unrolled":
        return without_source(swing), (0, 1, 2), (0.5, 0.1, 1.2)
    if name == "soft_dtw":
        return soft_dtw.soft_dtw, (0,), (soft_dtw.problem(200),)
    if name == "ten":
        return ten, (0, 1), (0.7, 1.3)
    if name == "mixture":
        return mixture.log_likelihood, (0, 1, 2), tuple(mixture.problem(1000, 10, 25))
    if name == "transformer":
        return transformer.loss, (0, 1), transformer.problem(8, 64, 128)
    return pendulum(int(name)), (0, 1, 2), (0.5, 0.1, 1.2)


def warmed(x):
    """Something small that has a loop, so that what walks loops is loaded, as all of jax is."""
    total = 0.0
    for each in x:
        total = total + each * each
    return total


def measure(name: str, way: str) -> tuple[float, list[float]]:
    """Seconds to the first gradient, and sums of its arrays."""
    function, argnums, given = problem(name)
    warm = np.ones(3)
    if way == "jax":
        jax = peers.jax()
        jax.block_until_ready(jax.jit(jax.grad(lambda x: (x * x).sum()))(jax.numpy.asarray(warm)))
        given = jax.tree.map(jax.numpy.asarray, given)
        function = OF_JAX[name](jax) if name in OF_JAX else peers.with_numpy(function, jax.numpy)
        begin = time.perf_counter()
        result = jax.block_until_ready(jax.jit(jax.grad(function, argnums))(*given))
    else:
        pullback.grad(warmed)(warm)
        begin = time.perf_counter()
        result = pullback.grad(function, argnums)(*given)
    spent = time.perf_counter() - begin
    return spent, [float(np.sum(np.abs(leaf))) for leaf in harness.leaves(result)]


if __name__ == "__main__":
    if sys.argv[1] == "long_time":
        result, most = long_time.measure(sys.argv[2], int(sys.argv[3]))
        print(json.dumps(result if sys.argv[4] == "seconds" else (most, result[1])))
    elif sys.argv[1] == "tensor_chain":
        spent, result, most = tensor_recording.measure(sys.argv[2], int(sys.argv[3]))
        print(json.dumps((spent if sys.argv[4] == "seconds" else most, result)))
    else:
        print(json.dumps(measure(*sys.argv[1:])))
