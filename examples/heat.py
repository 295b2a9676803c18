"""Where was it hot? The heat on a plate a while ago, found from what it is now by gradients through the simulation.

Every step changes the array in place, on slices, as one writes it in NumPy.
"""

import numpy as np

from pullback import value_and_grad

SIZE, STEPS, RATE = 24, 40, 0.2


def later(start):
    """The plate after some steps; its edge keeps its temperature."""
    u = start.copy()
    for _ in range(STEPS):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += RATE * (around - 4 * u[1:-1, 1:-1])
    return u


def miss(start, now):
    return np.sum((later(start) - now) ** 2)


def main() -> None:
    true = np.zeros((SIZE, SIZE))
    true[5:9, 6:10], true[14:18, 12:19] = 1.0, 0.6
    now = later(true)
    slope = value_and_grad(miss)
    guess, speed = now.copy(), np.zeros_like(now)
    for step in range(301):
        value, s = slope(guess, now)
        if step % 100 == 0:
            print(f"step {step:3d}: miss {value:.2e}, off by {np.sqrt(np.mean((guess - true) ** 2)):.4f}")
        speed = 0.9 * speed - 0.4 * s
        guess = np.clip(guess + speed, 0.0, 1.0)
    for row in guess[::2]:
        print("".join(" .:-=+*#%@"[int(9 * v)] * 2 for v in row))


if __name__ == "__main__":
    main()
