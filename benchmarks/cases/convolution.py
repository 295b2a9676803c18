"""A small net of two convolutions on pictures of 28 x 28: the value of the loss and all gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
from harness import Case

import pullback


def with_modules(torch, params, x, labels):
    """In the words of torch, for torch and for pullback."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(params[4].shape[1], 10),
    )
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), params, strict=True):
            parameter.copy_(torch.from_numpy(value))
    x, labels = torch.from_numpy(x), torch.from_numpy(labels)

    def run():
        model.zero_grad()
        value = nn.functional.cross_entropy(model(x), labels)
        value.backward()
        return value.item(), [p.grad.numpy() for p in model.parameters()]

    return run


def by_jax(jax, params, x, labels):
    def layer(x, weight, bias):
        names = ("NCHW", "OIHW", "NCHW")
        y = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=names)
        y = jax.nn.relu(y + bias[:, None, None])
        return jax.lax.reduce_window(y, -jax.numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(params, x, labels):
        h = layer(layer(x, params[0], params[1]), params[2], params[3])
        scores = h.reshape(len(x), -1) @ params[4].T + params[5]
        return -jax.nn.log_softmax(scores)[jax.numpy.arange(len(x)), labels].mean()

    return peers.by_jax(jax.value_and_grad(loss), params, x, labels)


def _patches(x):
    """The 3 x 3 surroundings of every pixel, as rows of a matrix."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * 9)


def _layer(x, weight, bias):
    """Convolve, rectify, take the largest of each 2 x 2; also what the way back needs."""
    n, _, high, wide = x.shape
    patches = _patches(x)
    y = (patches @ weight.reshape(len(weight), -1).T + bias).reshape(n, high, wide, -1).transpose(0, 3, 1, 2)
    cells = np.maximum(y, 0).reshape(n, len(weight), high // 2, 2, wide // 2, 2)
    best = cells.max(axis=(3, 5), keepdims=True)
    return best[:, :, :, 0, :, 0], patches, cells, best


def _layer_back(back, weight, patches, cells, best):
    """The cotangents of a layer's input, weight and bias; a rectified maximum of 0 passes nothing on."""
    n, channels, high, _, wide, _ = cells.shape
    chosen = (cells == best) & (best > 0)
    y_back = (chosen * back[:, :, :, None, :, None]).reshape(n, channels, 2 * high, 2 * wide)
    rows = y_back.transpose(0, 2, 3, 1).reshape(-1, channels)
    turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(weight.shape[1], -1)
    x_back = (_patches(y_back) @ turned.T).reshape(n, 2 * high, 2 * wide, -1).transpose(0, 3, 1, 2)
    return x_back, (rows.T @ patches).reshape(weight.shape), rows.sum(axis=0)


def by_hand(params, x, labels):
    w1, b1, w2, b2, w3, b3 = params
    rows, n = np.arange(len(x)), np.float32(len(x))
    first, *kept1 = _layer(x, w1, b1)
    second, *kept2 = _layer(first, w2, b2)
    flat = second.reshape(len(x), -1)
    scores = flat @ w3.T + b3
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    exps = np.exp(shifted)
    sums = np.sum(exps, axis=1, keepdims=True)
    back = exps / (sums * n)
    back[rows, labels] -= 1 / n
    to_second, g_w2, g_b2 = _layer_back((back @ w3).reshape(second.shape), w2, *kept2)
    _, g_w1, g_b1 = _layer_back(to_second, w1, *kept1)
    value = np.mean(np.log(sums[:, 0]) - shifted[rows, labels])
    return value, [g_w1, g_b1, g_w2, g_b2, back.T @ flat, np.sum(back, axis=0)]


def problem(batch: int, side: int):
    rng = np.random.default_rng(0)
    sizes = ((16, 1, 3, 3), 16, (32, 16, 3, 3), 32, (10, 2 * side * side), 10)
    params = [(rng.normal(size=s) / np.prod(s[1:] if isinstance(s, tuple) else 10) ** 0.5) for s in sizes]
    x, labels = rng.normal(size=(batch, 1, side, side)), rng.integers(0, 10, size=batch)
    return [p.astype(np.float32) for p in params], x.astype(np.float32), labels


def cases(size: str) -> Iterator[Case]:
    batch, side = (2, 8) if size == "tiny" else (32, 28)
    given = problem(batch, side)
    ways = {"pullback": peers.lazily(lambda: with_modules(pullback, *given)), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        ways["torch"] = with_modules(torch, *given)
    if jax := peers.jax():
        ways["jax"] = by_jax(jax, *given)
    name = f"convolution net, {side} x {side}, batch {batch}, f32"
    flops = 2.0 * 9 * batch * side * side * (2 * 16 + 3 * 16 * 32 / 4)
    yield Case(name, ways, goals=(("torch", 1.0),), agree=5e-4, flops=flops)
