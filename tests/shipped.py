"""Functions of every kind that users hold, to be sent to other processes; and, run as a program, the sending.

    python shipped.py spawn loky     they are called in processes of these kinds, and give the same there as here

As a program it imports nothing of the tests: its functions are those of `__main__`, as a user's are.
"""

import concurrent.futures
import functools
import math
import multiprocessing
import subprocess
import sys
from typing import Any

import cloudpickle
import distributed
import joblib
import numpy as np
import sympy

from pullback import (
    checkpoint,
    custom_formula,
    custom_jvp,
    custom_vjp,
    external,
    grad,
    hessian,
    hvp,
    implicit,
    jacfwd,
    jacrev,
    jit,
    lambdify,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)  # fmt: skip

SCALE = 3.0
V = np.array([0.3, 0.6])


def helper(x):
    if np.sum(x) > 0:
        return np.sin(x) * SCALE
    return x


def loss(x):
    return np.sum(helper(x) ** 2)


@grad
def slope(x):
    t = x
    for _ in range(3):
        t = t * 0.5 + x * x
    return np.sum(t) * SCALE


def power(n, x):
    return x if n == 0 else x * power(n - 1, x)


power = jit(power, static_argnums=0)
curvature = hessian(loss)


@custom_vjp
def clipped(x):
    return x * 2.0


clipped.defvjp(lambda x: (x * 2.0, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))


@custom_jvp
def doubled(x):
    return np.sin(x)


doubled.defjvp(lambda primals, tangents: (np.sin(primals[0]), 2.0 * tangents[0]))


@custom_jvp
def halved(x, y):
    return x * y


halved.defjvps(lambda t, result, x, y: t * y / 2.0, None)


@custom_formula
def softplus(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


softplus.defformula(lambda x: np.log(1.0 + np.exp(x)))


@implicit(lambda x, a: x * x - a)
def root(a, start):
    return while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), start)


@external(result=float, differences=True)
def opaque(x):
    return float(x) ** 2


gamma = external(math.gamma, float, differences=True)


class Model:
    """Methods of every kind."""

    def __init__(self, k: float) -> None:
        self.k = k

    @grad
    def slope(self, x):
        return np.sum(self.k * x**2)

    @staticmethod
    @hessian
    def curvature(x):
        return np.sum(x**4)

    def plain(self, x):
        return np.sum(self.k * helper(x))


model = Model(2.0)
a, b = sympy.symbols("a b", positive=True)
formula = lambdify([a, b], sympy.exp(-a * b) * sympy.sin(a))

NAMED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "decorated": (slope, (V,)),
    "of a name": (grad(loss), (V,)),
    "nested": (jit(grad(jit(loss))), (V,)),
    "hvp": (hvp(loss), (V, V)),
    "hessian": (curvature, (V,)),
    "jacfwd": (jacfwd(helper), (V,)),
    "jacrev": (jacrev(helper), (V,)),
    "vmap": (vmap(grad(softplus)), (V,)),
    "checkpoint": (grad(checkpoint(loss)), (V,)),
    "vjp": (vjp(helper, V)[1], (V,)),
    "partial": (functools.partial(value_and_grad(loss), V), ()),
    "method": (model.slope, (V,)),
    "method of a class": (Model.slope, (model, V)),
    "of a method": (grad(model.plain), (V,)),
    "static Hessian": (Model.curvature, (V,)),
    "custom_vjp": (grad(clipped), (2.0,)),
    "custom_vjp itself": (clipped, (2.0,)),
    "custom_jvp": (grad(doubled), (0.3,)),
    "defjvps": (grad(halved), (0.3, 2.0)),
    "custom_formula": (grad(softplus), (0.3,)),
    "implicit": (grad(root), (4.0, 1.0)),
    "external": (grad(opaque), (2.0,)),
    "external of a library": (gamma, (3.0,)),
    "formula": (formula, (1.0, 2.0)),
    "gradient of a formula": (grad(formula), (1.0, 2.0)),
    "matrix": (lambdify([a, b], sympy.Matrix([[a * b, a], [b, a**2]])), (1.0, 2.0)),
    "recursive": (power, (3, 2.0)),
    "ufunc": (grad(np.sin), (0.3,)),
}
"""What pickle takes: it is found by a name, or made of what is."""


def nameless() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """What has no name: cloudpickle takes it by value, and pickle refuses it."""
    weights = np.array([2.0, 5.0])

    def local(x):
        s = 0.0
        for k in range(2):
            s = s + x[k] * weights[k] ** 2
        return s * s

    @jit
    def again(x):
        return x if isinstance(x, float) else again(float(SCALE)) * x

    return {
        "grad of a local": (grad(local), (V,)),
        "value_and_grad": (value_and_grad(local), (V,)),
        "jit of a local": (jit(local), (V,)),
        "hvp of a local": (hvp(local), (V, V)),
        "hessian of a local": (hessian(local), (V,)),
        "lambda": (grad(lambda x: np.sum(x**3)), (V,)),
        "jacfwd of a lambda": (jacfwd(lambda x: x**3), (V,)),
        "jacrev of a lambda": (jacrev(lambda x: x**3), (V,)),
        "vmap with axes": (vmap(lambda x, y: x * np.sum(y), in_axes=(0, None)), (V, V)),
        "grad of grad": (grad(grad(lambda x: x**4)), (2.0,)),
        "partial over": (functools.partial(grad(lambda x, k: np.sum(x**2) * k), k=3.0), (V,)),
        "partial under": (grad(functools.partial(lambda k, x: np.sum(x**2) * k, 3.0)), (V,)),
        "external in a lambda": (grad(lambda x: gamma(x) ** 2), (2.0,)),
        "checkpoint of a lambda": (grad(checkpoint(lambda x: np.sin(np.sin(x)))), (0.5,)),
        "pullback": (vjp(lambda x: x**2, V)[1], (V,)),
        "argnums": (grad(lambda x, y: x * y**2, argnums=(0, 1)), (2.0, 3.0)),
        "has_aux": (grad(lambda x: (x**2, 3 * x), has_aux=True), (2.0,)),
        "static": (jit(lambda x, n: x**n, static_argnums=1), (2.0, 3)),
        "sizes": (jit(lambda x: np.sum(x), sizes={"x": ("n",)}), (V,)),
        "max_memory": (grad(lambda x: x**2, max_memory="1 MB"), (2.0,)),
        "names itself": (again, (V,)),
        "calls one": (lambda x: slope(x) + 1.0, (V,)),
    }


FEW = ("decorated", "of a name", "method", "custom_vjp", "formula", "task", "grad of a local", "names itself")


def task(x):
    """Makes what it calls where it runs."""
    return grad(loss)(x), hvp(loss)(x, x)


def text(function: Any, args: tuple[Any, ...]) -> str:
    """What a call gives, to the last bit."""
    return " ".join(repr(function(*args)).split())


def program(kinds: dict[str, Any]) -> list[str]:
    """It has not imported pullback, and knows none of the functions."""
    there = "import pickle, sys; f, kinds = pickle.load(sys.stdin.buffer); [print(f(*each)) for each in kinds]"
    given = cloudpickle.dumps((text, list(kinds.values())))
    ran = subprocess.run([sys.executable, "-c", there], input=given, stdout=subprocess.PIPE, check=True, timeout=100)
    return ran.stdout.decode().splitlines()


def loky(kinds: dict[str, Any]) -> list[str]:
    made: Any = joblib.Parallel(n_jobs=2)(joblib.delayed(text)(*each) for each in kinds.values())
    return made


def dask(kinds: dict[str, Any]) -> list[str]:
    options: Any = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    cluster: Any = distributed.LocalCluster(n_workers=1, **options)
    client: Any
    with cluster, distributed.Client(cluster) as client:
        return client.gather([client.submit(text, *each) for each in kinds.values()])


def pool(method: str, kinds: dict[str, Any]) -> list[str]:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as workers:
        return list(workers.map(text, *zip(*kinds.values(), strict=True)))


WAYS = {"program": program, "loky": loky, "dask": dask}


def main(*ways: str) -> None:
    kinds = {**NAMED, "task": (task, (V,))}
    every = {**kinds, **nameless()} if set(WAYS) & set(ways) else kinds
    here = {name: text(*each) for name, each in every.items()}
    for way in ways:
        sent = every if way in WAYS else kinds
        if way in ("fork", "forkserver", "dask"):  # as spawn and loky; it takes its time
            sent = {name: each for name, each in sent.items() if name in FEW}
        made = WAYS[way](sent) if way in WAYS else pool(way, sent)
        for name, there in zip(sent, made, strict=True):
            assert there == here[name], (way, name, there, here[name])
        print(way, len(sent), "the same", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
