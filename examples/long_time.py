"""A gradient over a hundred thousand steps in little memory.

The way back needs the states of the way there. Kept at every step they take steps x states x 8 bytes; with `max_memory`
some are kept and the others computed again, which takes longer but never more than that.
"""

import numpy as np

from pullback import value_and_grad

STATES, STEPS, DT = 100, 100_000, 0.01


def settled(u, drive, rate, steps):
    """Cells on a ring, each with two states that it likes, driven and coupled to its neighbours."""
    for _ in range(steps):
        around = np.roll(u, 1) + np.roll(u, -1) - 2 * u
        u = u + DT * (rate * around + u - u * u * u + drive)
    return np.mean(u * u)


def main() -> None:
    start, drive = np.random.default_rng(0).normal(size=(2, STATES))
    given = start, 0.3 * drive, 0.5
    print(f"every state of {STEPS:,} steps would be {STATES * STEPS * 8 / 1e6:.0f} MB")
    slope = value_and_grad(settled, argnums=(1, 2), max_memory="50 MB")
    value, (to_drive, to_rate) = slope(*given, STEPS)
    print(f"in 50 MB: value {value:.6f}, d/drate {to_rate:.6f}, largest d/ddrive {np.max(np.abs(to_drive)):.6f}")
    # Fewer steps need no limit; then nothing is computed twice, and the result is the same.
    few = STEPS // 100
    limited, plain = slope(*given, few), value_and_grad(settled, argnums=(1, 2))(*given, few)
    print(f"d/drate of {few:,} steps: {limited[1][1]:.12f} with a limit, {plain[1][1]:.12f} without")


if __name__ == "__main__":
    main()
