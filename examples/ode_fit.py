"""Fit a differential equation to what was seen: predators and prey, by gradients through 400 Runge-Kutta steps.

The solver is a `for` over Python floats, with a helper function inside. Nothing in it knows of derivatives.
"""

import math

from pullback import value_and_grad

H = 0.05
STEPS_BETWEEN = 20


def orbit(a, b, c, d, x, y, seen):
    """How far the orbit with these rates is from what was seen at every twentieth step."""

    def rates(x, y):
        return a * x - b * x * y, c * x * y - d * y

    miss = 0.0
    for hares, foxes in seen:
        for _ in range(STEPS_BETWEEN):
            k1, l1 = rates(x, y)
            k2, l2 = rates(x + H / 2 * k1, y + H / 2 * l1)
            k3, l3 = rates(x + H / 2 * k2, y + H / 2 * l2)
            k4, l4 = rates(x + H * k3, y + H * l3)
            x = x + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            y = y + H / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
        miss += (math.log(x) - hares) ** 2 + (math.log(y) - foxes) ** 2
    return miss


def observations(a, b, c, d, x, y, count):
    """The logarithms of what one sees with the true rates."""
    seen = []
    for _ in range(count):
        for _ in range(STEPS_BETWEEN * 10):
            u, v = x + H / 20 * (a * x - b * x * y), y + H / 20 * (c * x * y - d * y)
            x, y = x + H / 10 * (a * u - b * u * v), y + H / 10 * (c * u * v - d * v)
        seen.append((math.log(x), math.log(y)))
    return seen


def main() -> None:
    seen = observations(1.1, 0.4, 0.1, 0.4, 10.0, 5.0, 20)
    # The gradient in the four rates; the function around the loops is compiled once.
    slope = value_and_grad(orbit, argnums=(0, 1, 2, 3))
    logs = [math.log(rate) for rate in (0.9, 0.5, 0.12, 0.35)]
    speeds, sizes = [0.0] * 4, [0.0] * 4
    print("     miss       a       b       c       d")
    for step in range(601):
        rates = [math.exp(log) for log in logs]
        miss, slopes = slope(*[*rates, 10.0, 5.0, seen])
        if step % 150 == 0:
            print(f"{miss:9.5f}", *(f"{rate:7.4f}" for rate in rates))
        # Adam, in the logarithms of the rates, so that they stay positive.
        for k, (rate, s) in enumerate(zip(rates, slopes, strict=True)):
            speeds[k] = 0.9 * speeds[k] + 0.1 * rate * s
            sizes[k] = 0.99 * sizes[k] + 0.01 * (rate * s) ** 2
            logs[k] -= 0.05 * speeds[k] / (math.sqrt(sizes[k]) + 1e-9)
    print("    (true)  1.1000  0.4000  0.1000  0.4000")


if __name__ == "__main__":
    main()
