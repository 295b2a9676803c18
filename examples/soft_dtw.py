"""The mean of time series that run at different speeds: the series with the least soft-DTW distance to all of them.

Soft dynamic time warping (Cuturi and Blondel, 2017) is a dynamic program: two nested loops that fill a table, entry by
entry. Its gradient goes back through the same table.
"""

import math

import numpy as np

from pullback import value_and_grad

SMOOTH = 0.1


def soft_dtw(x, y):
    """The soft cost of the cheapest alignment of two series; as every soft minimum it may be negative."""
    n, m = len(x), len(y)
    table = np.full((n + 1, m + 1), 1e10)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = table[i - 1, j - 1], table[i - 1, j], table[i, j - 1]
            low = min(a, b, c)
            total = math.exp((low - a) / SMOOTH) + math.exp((low - b) / SMOOTH) + math.exp((low - c) / SMOOTH)
            table[i, j] = (x[i - 1] - y[j - 1]) ** 2 + low - SMOOTH * math.log(total)
    return table[n, m]


def main() -> None:
    times = np.linspace(0.0, 1.0, 50)
    # The same bump, early and late, fast and slow.
    series = [np.exp(-(((times**power - 0.5) / 0.12) ** 2)) for power in (0.6, 0.9, 1.3, 1.8)]
    mean = np.mean(series, axis=0)
    slope = value_and_grad(soft_dtw)
    print("height of the plain mean ", round(float(np.max(mean)), 3))
    for step in range(101):
        made = [slope(mean, each) for each in series]
        if step % 25 == 0:
            print(f"step {step:3d}: distance {sum(value for value, _ in made):8.4f}")
        mean = mean - 0.05 * sum(s for _, s in made)
    print("height of the soft mean  ", round(float(np.max(mean)), 3))


if __name__ == "__main__":
    main()
