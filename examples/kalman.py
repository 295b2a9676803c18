"""How noisy is a sensor? A Kalman filter whose likelihood is climbed by its gradient.

The filter is a loop over measurements, with matrices as its state. A measurement that is missing (NaN) is skipped by a
plain `if`.
"""

import math

import numpy as np

from pullback import value_and_grad

MOVE = np.array([[1.0, 0.1], [0.0, 1.0]])


def log_likelihood(log_drive, log_noise, seen):
    """Of a point on a line that is pushed at random, with its place seen through noise."""
    drive, noise = math.exp(log_drive), math.exp(log_noise)
    x, p = np.zeros(2), np.eye(2)
    total = 0.0
    for z in seen:
        x = MOVE @ x
        p = MOVE @ p @ MOVE.T + np.array([[0.0, 0.0], [0.0, drive]])
        if math.isnan(z):
            continue
        s = p[0, 0] + noise
        gain = p[:, 0] / s
        error = z - x[0]
        total -= 0.5 * (math.log(2 * math.pi * s) + error * error / s)
        x = x + gain * error
        p = p - np.outer(gain, p[0])
    return total


def measurements(count: int) -> np.ndarray:
    """Made with a drive of 0.02 and a noise of 0.25; every seventh is missing."""
    rng = np.random.default_rng(3)
    x, seen = np.zeros(2), np.zeros(count)
    for k in range(count):
        x = MOVE @ x
        x[1] += rng.normal() * math.sqrt(0.02)
        seen[k] = x[0] + rng.normal() * 0.5 if k % 7 else math.nan
    return seen


def main() -> None:
    seen = measurements(500)
    slope = value_and_grad(log_likelihood, argnums=(0, 1))
    log_drive, log_noise = 0.0, 0.0
    for step in range(201):
        value, (to_drive, to_noise) = slope(log_drive, log_noise, seen)
        if step % 50 == 0:
            drive, noise = math.exp(log_drive), math.exp(log_noise)
            print(f"step {step:3d}: log-likelihood {value:9.3f}, drive {drive:.4f}, noise {noise:.4f}")
        log_drive += 0.01 * to_drive
        log_noise += 0.01 * to_noise
    print("         made with:               drive 0.0200, noise 0.2500")


if __name__ == "__main__":
    main()
