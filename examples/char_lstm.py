"""A recurrent network learns to spell: an LSTM that reads an essay character by character, in a plain Python loop.

The essay is the one on heaps that Python carries in `heapq`. The loop is compiled as a loop, whatever its length.
"""

import heapq

import numpy as np

from pullback import value_and_grad

HIDDEN, PIECE = 48, 200
ESSAY: str = getattr(heapq, "__about__").lower()  # noqa: B009
LETTERS = sorted(set(ESSAY))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(p, h, c, letter):
    """The state after one more letter, and the scores of the next."""
    z = p["read"][letter] + h @ p["recur"] + p["bias"]
    keep, let_in, let_out = sigmoid(z[:HIDDEN]), sigmoid(z[HIDDEN : 2 * HIDDEN]), sigmoid(z[2 * HIDDEN : 3 * HIDDEN])
    c = keep * c + let_in * np.tanh(z[3 * HIDDEN :])
    h = let_out * np.tanh(c)
    return h, c, h @ p["write"] + p["shift"]


def loss(p, text):
    """What a character costs, in nats."""
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    total = 0.0
    for k in range(len(text) - 1):
        h, c, guess = step(p, h, c, text[k])
        top = np.max(guess)
        total += top + np.log(np.sum(np.exp(guess - top))) - guess[text[k + 1]]
    return total / (len(text) - 1)


def parameters() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    sizes = {"read": (len(LETTERS), 4 * HIDDEN), "recur": (HIDDEN, 4 * HIDDEN), "bias": (4 * HIDDEN,)}
    sizes |= {"write": (HIDDEN, len(LETTERS)), "shift": (len(LETTERS),)}
    return {name: rng.normal(size=size, scale=0.1) for name, size in sizes.items()}


def spelled(p: dict[str, np.ndarray], count: int) -> str:
    """What the network writes by itself, always taking the likeliest letter."""
    h = c = np.zeros(HIDDEN)
    letter, text = LETTERS.index("t"), "t"
    for _ in range(count):
        h, c, guess = step(p, h, c, letter)
        letter = int(np.argmax(guess))
        text += LETTERS[letter]
    return " ".join(text.split())


def main() -> None:
    text = np.array([LETTERS.index(letter) for letter in ESSAY])
    p = parameters()
    speeds, sizes = ({name: np.zeros_like(array) for name, array in p.items()} for _ in range(2))
    slope = value_and_grad(loss)
    for turn in range(301):
        start = turn * PIECE % (len(text) - PIECE - 1)
        value, slopes = slope(p, text[start : start + PIECE + 1])
        if turn % 100 == 0:
            print(f"after {turn:3d} pieces of {PIECE} characters: {value:.3f} nats a character")
        for name, s in slopes.items():
            speeds[name] = 0.9 * speeds[name] + 0.1 * s
            sizes[name] = 0.99 * sizes[name] + 0.01 * s * s
            p[name] = p[name] - 0.01 * speeds[name] / (np.sqrt(sizes[name]) + 1e-8)
    print("It writes:", spelled(p, 60))


if __name__ == "__main__":
    main()
