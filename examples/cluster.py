"""Fit a Poisson regression whose data lie in partitions on the workers of a Dask cluster, by Newton's method.

How often a claim is made, by age of driver and car: a logarithm of a rate that is linear in what is known. Each worker
sums the loss, its gradient and its Hessian over the rows that it holds, and only these sums travel. A function under a
transform is sent as any function is; each worker compiles it once for the rows that it has.

It needs `pip install pullback[cluster]`, and here uses two processes of this computer.
"""

from typing import Any

import numpy as np
from dask.distributed import Client, LocalCluster

from pullback import hessian, value_and_grad

ROWS, PARTITIONS = 20_000, 4
TRUE = np.array([-1.2, 0.4, -0.3, 0.15])


def claims(seed):
    """The rows of one partition: what is known of each driver, and the number of claims."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(ROWS), rng.normal(size=(ROWS, len(TRUE) - 1))])
    return x, rng.poisson(np.exp(x @ TRUE)).astype(float)


def loss(w, x, y):
    """The negative logarithm of the likelihood, but for what does not depend on w."""
    rate = x @ w
    return np.sum(np.exp(rate) - y * rate)


slope = value_and_grad(loss)
curvature = hessian(loss)


def sums(rows, w):
    """What one partition adds to the loss, its gradient and its Hessian."""
    value, gradient = slope(w, *rows)
    return value, gradient, curvature(w, *rows)


def newton(total, steps=8):
    """The minimum of a convex loss; `total` gives it with its first two derivatives."""
    w = np.zeros(len(TRUE))
    print("step          loss   |gradient|")
    for step in range(steps):
        value, gradient, second = total(w)
        print(f"{step:4d} {value:13.3f} {np.abs(gradient).max():12.2e}")
        if np.abs(gradient).max() < 1e-8 * abs(value):
            break
        w = w - np.linalg.solve(second, gradient)
    return w, np.sqrt(np.diag(np.linalg.inv(second)))


def main() -> None:
    options = {"host": "127.0.0.1", "dashboard_address": None}
    cluster: Any = LocalCluster(n_workers=2, threads_per_worker=1, **options)
    client: Any
    with cluster, Client(cluster) as client:
        partitions = client.map(claims, range(PARTITIONS))

        def total(w):
            made = client.gather(client.map(sums, partitions, w=w))
            return [sum(each) for each in zip(*made, strict=True)]

        w, error = newton(total)
        everything = [np.concatenate(each) for each in zip(*client.gather(partitions), strict=True)]
        _, there, _ = total(TRUE)
    _, here = slope(TRUE, *everything)
    print("\n    true   fitted    error")
    for row in zip(TRUE, w, error, strict=True):
        print(*(f"{number:8.3f}" for number in row))
    print(f"\nthe gradient in one process differs by {np.abs(there - here).max() / np.abs(here).max():.0e} of it")


if __name__ == "__main__":
    main()
