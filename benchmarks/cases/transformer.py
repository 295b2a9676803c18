"""A block of a transformer, forward and backward: attention with several heads, then two layers, each after a norm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

from pullback import value_and_grad

HEADS = 4
SLOPE = 0.7978845608028654


def layer_norm(x, gain, shift):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * gain + shift


def softmax(x):
    exps = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exps / np.sum(exps, axis=-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(SLOPE * (x + 0.044715 * x * x * x)))


def split(x):
    """A head's part of every row, heads before rows."""
    batch, length, width = x.shape
    return x.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)


def joined(x):
    batch, heads, length, part = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * part)


def block(p, x):
    h = layer_norm(x, p["gain1"], p["shift1"])
    query, key, value = split(h @ p["query"]), split(h @ p["key"]), split(h @ p["value"])
    weights = softmax(query @ key.transpose(0, 1, 3, 2) * (x.shape[-1] // HEADS) ** -0.5)
    x = x + joined(weights @ value) @ p["out"]
    h = layer_norm(x, p["gain2"], p["shift2"])
    return x + gelu(h @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss(p, x, target):
    return np.mean((block(p, x) - target) ** 2)


FUNCTIONS = (layer_norm, softmax, gelu, split, joined, block, loss)
"""All that the loss consists of."""


def _norm_back(x, gain, back):
    """The cotangents of a layer norm's input, gain and shift."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + np.float32(1e-5))
    normed, down = centred * scale, back * gain
    along = np.mean(down * normed, axis=-1, keepdims=True)
    to_x = (down - np.mean(down, axis=-1, keepdims=True) - normed * along) * scale
    return to_x, np.sum(back * normed, axis=(0, 1)), np.sum(back, axis=(0, 1))


def _weight(x, back):
    """The cotangent of a matrix that rows of x were multiplied by."""
    return x.reshape(-1, x.shape[-1]).T @ back.reshape(-1, back.shape[-1])


def by_hand(p, x, target):
    g = {}
    h = layer_norm(x, p["gain1"], p["shift1"])
    query, key, value = split(h @ p["query"]), split(h @ p["key"]), split(h @ p["value"])
    scale = np.float32((x.shape[-1] // HEADS) ** -0.5)
    weights = softmax(query @ key.transpose(0, 1, 3, 2) * scale)
    mixed = joined(weights @ value)
    x2 = x + mixed @ p["out"]
    h2 = layer_norm(x2, p["gain2"], p["shift2"])
    inner = h2 @ p["w1"] + p["b1"]
    bend = np.tanh(np.float32(SLOPE) * (inner + np.float32(0.044715) * inner * inner * inner))
    active = 0.5 * inner * (1 + bend)
    error = x2 + active @ p["w2"] + p["b2"] - target
    back = error * np.float32(2 / error.size)
    g["w2"], g["b2"] = _weight(active, back), np.sum(back, axis=(0, 1))
    slope = np.float32(SLOPE) * (1 + np.float32(3 * 0.044715) * inner * inner)
    down = (back @ p["w2"].T) * 0.5 * (1 + bend + inner * (1 - bend * bend) * slope)
    g["w1"], g["b1"] = _weight(h2, down), np.sum(down, axis=(0, 1))
    to_x2, g["gain2"], g["shift2"] = _norm_back(x2, p["gain2"], down @ p["w1"].T)
    back = back + to_x2
    g["out"] = _weight(mixed, back)
    mixed_back = split(back @ p["out"].T)
    weights_back = mixed_back @ value.transpose(0, 1, 3, 2)
    scores = weights * (weights_back - np.sum(weights_back * weights, axis=-1, keepdims=True)) * scale
    backs = {"query": joined(scores @ key), "key": joined(scores.transpose(0, 1, 3, 2) @ query)}
    backs["value"] = joined(weights.transpose(0, 1, 3, 2) @ mixed_back)
    g |= {name: _weight(h, each) for name, each in backs.items()}
    to_x, g["gain1"], g["shift1"] = _norm_back(x, p["gain1"], sum(each @ p[name].T for name, each in backs.items()))
    return np.mean(error * error), (g, back + to_x)


def by_torch(torch, p, x, target):
    tensors = {name: torch.tensor(each, requires_grad=True) for name, each in p.items()}
    tx, t_target = torch.tensor(x, requires_grad=True), torch.tensor(target)
    nn, width = torch.nn.functional, (x.shape[-1],)

    def split(x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def run():
        t = tensors
        h = nn.layer_norm(tx, width, t["gain1"], t["shift1"])
        query, key, value = (split(h @ t[name]) for name in ("query", "key", "value"))
        mixed = nn.scaled_dot_product_attention(query, key, value)
        x2 = tx + mixed.transpose(1, 2).flatten(2) @ t["out"]
        h = nn.layer_norm(x2, width, t["gain2"], t["shift2"])
        y = x2 + nn.gelu(h @ t["w1"] + t["b1"], approximate="tanh") @ t["w2"] + t["b2"]
        value = nn.mse_loss(y, t_target)
        *gradient, to_x = torch.autograd.grad(value, [*t.values(), tx])
        return value, (dict(zip(t, gradient, strict=True)), to_x)

    return run


def problem(batch: int, length: int, width: int):
    """Parameters, rows and target."""
    rng = np.random.default_rng(0)

    def normal(*size):
        return rng.normal(size=size).astype(np.float32)

    p = {name: normal(width, width) / np.float32(width**0.5) for name in ("query", "key", "value", "out")}
    p |= {"w1": normal(width, 4 * width) / np.float32(width**0.5), "b1": 0.1 * normal(4 * width)}
    p |= {"w2": normal(4 * width, width) / np.float32(2 * width**0.5), "b2": 0.1 * normal(width)}
    for k in "12":
        p |= {"gain" + k: 1 + 0.1 * normal(width), "shift" + k: 0.1 * normal(width)}
    return p, normal(batch, length, width), normal(batch, length, width)


def cases(size: str) -> Iterator[Case]:
    batch, length, width = (2, 3, 8) if size == "tiny" else (8, 64, 128)
    given = problem(batch, length, width)
    ours = value_and_grad(loss, argnums=(0, 1))
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        ways["torch"] = by_torch(torch, *given)
    if jax := peers.jax():
        ways["jax"] = peers.by_jax(jax.value_and_grad(peers.with_numpy(loss, jax.numpy), (0, 1)), *given)
    flops = 3.0 * 2 * batch * length * (12 * width * width + 2 * length * width)
    name = f"transformer block, batch {batch}, length {length}, width {width}, {HEADS} heads, f32"
    yield Case(name, ways, goals=(("jax", 1.2), ("torch", 1.5)), agree=5e-4, flops=flops)
