"""Learn the 1,797 handwritten digits of scikit-learn with one network, written three ways.

1. a NumPy loss under `@value_and_grad`
2. define-by-run Tensors with `nn` and `optim`
3. the same loss as a compiled module, imported like any other

Run it with `make demo`, or `python examples/digits.py`.  The data are the test part of the "Optical Recognition
of Handwritten Digits" set (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository), shipped by scikit-learn.
"""

import importlib
import shutil
import sys
import tempfile
import time

import numpy as np
from sklearn.datasets import load_digits

import pullback
import pullback as torch
from pullback import value_and_grad

HIDDEN, BATCH, EPOCHS, RATE, MOMENTUM = 64, 64, 60, 0.1, 0.9
GOAL = 0.96


def loss(params, x, y):
    """Mean cross-entropy of a two-layer network; `y` has one row per example with a 1 at its digit."""
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    scores = hidden @ params["w2"] + params["b2"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.sum(y * (scores - log_sum)) / len(x)


def loss_by_hand(params, x, y):
    """The value and gradient of `loss` as one would write them in NumPy."""
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    scores = hidden @ params["w2"] + params["b2"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    exps = np.exp(scores)
    sums = np.sum(exps, axis=1, keepdims=True)
    value = -np.sum(y * (scores - np.log(sums))) / len(x)
    back = (exps / sums - y) / np.float32(len(x))
    down = (back @ params["w2"].T) * (1 - hidden * hidden)
    return value, {
        "w1": x.T @ down,
        "b1": np.sum(down, axis=0),
        "w2": hidden.T @ back,
        "b2": np.sum(back, axis=0),
    }


def load():
    """((x, y) to learn from, (x, labels) held out): pixels in 0..1 as float32, y one row per example."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x, labels = (np.asarray(pixels) / 16).astype(np.float32)[order], np.asarray(labels)[order]
    y = np.eye(10, dtype=np.float32)[labels]
    return (x[:1437], y[:1437]), (x[1437:], labels[1437:])


def start():
    """The parameters before learning."""
    rng = np.random.default_rng(1)
    return {
        "w1": (rng.normal(size=(64, HIDDEN)) / 8).astype(np.float32),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": (rng.normal(size=(HIDDEN, 10)) / HIDDEN**0.5).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }


def batches(x, y, epoch):
    """One epoch's batches in random order; the few examples that fill no batch wait for the next one."""
    order = np.random.default_rng(epoch).permutation(len(x))
    for k in range(len(x) // BATCH):
        rows = order[k * BATCH : (k + 1) * BATCH]
        yield x[rows], y[rows]


def accuracy(params, x, labels):
    """The share of digits that the network gets right."""
    scores = np.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]
    return np.mean(np.argmax(scores, axis=1) == labels)


def progress(name, epoch, value, right):
    """One line that is written over as learning goes on."""
    end = "\n" if epoch + 1 == EPOCHS else ""
    start_of_line = "\r" if sys.stdout.isatty() else ""
    if end or start_of_line:
        text = f"{name:<22} epoch {epoch + 1:>3}  loss {value:.4f}  held out {right:6.2%}"
        print(f"{start_of_line}{text}", end=end, flush=True)


def learn(name, value_and_gradient, train, held_out):
    """Gradient descent with momentum on NumPy arrays; returns the accuracy on the digits held out."""
    params = start()
    speed = {k: np.zeros_like(v) for k, v in params.items()}
    value, right = 0.0, 0.0
    for epoch in range(EPOCHS):
        for x, y in batches(train[0], train[1], epoch):
            value, gradient = value_and_gradient(params, x, y)
            for k, g in gradient.items():
                speed[k] = MOMENTUM * speed[k] - RATE * np.asarray(g)
                params[k] = params[k] + speed[k]
        right = accuracy(params, held_out[0], held_out[1])
        progress(name, epoch, float(value), right)
    return right


def network():
    """The same network in PyTorch's words."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 10))


def learn_tensors(train, held_out):
    """The same learning as define-by-run code."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    unseen, labels = torch.from_numpy(held_out[0]), held_out[1]
    right = 0.0
    for epoch in range(EPOCHS):
        value = torch.tensor(0.0)
        for x, y in batches(train[0], train[1], epoch):
            optimizer.zero_grad()
            scores = model(torch.from_numpy(x))
            value = torch.nn.functional.cross_entropy(scores, torch.from_numpy(y))
            value.backward()
            optimizer.step()
        with torch.no_grad():
            guesses = model(unseen).argmax(dim=1).numpy()
        right = np.mean(guesses == labels)
        progress("Tensors", epoch, value.item(), right)
    return right


def tensor_step():
    """A function that gives the value and the gradients of the network of Tensors."""
    model = network()

    def step(params, x, y):
        model.zero_grad()
        value = torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y))
        value.backward()
        return value.item(), [p.grad.numpy() for p in model.parameters()]

    return step


def imported_kernel(compiled, args, folder):
    """Write `compiled` as an extension module, and import it."""
    pullback.build(compiled, args, name="digits_kernel", out=folder)
    sys.path.insert(0, folder)
    return importlib.import_module("digits_kernel").loss


def microseconds(steps, args, rounds=300):
    """The median time of a call of each step, taken in turn, after a second in which kernels are made beside it."""
    times, begin = {name: [] for name in steps}, time.perf_counter()
    while time.perf_counter() - begin < 1.0:
        for step in steps.values():
            step(*args)
    for _ in range(rounds):
        for name, step in steps.items():
            begin = time.perf_counter()
            step(*args)
            times[name].append(time.perf_counter() - begin)
    return {name: 1e6 * sorted(t)[rounds // 2] for name, t in times.items()}


def main():
    train, held_out = load()
    compiled = value_and_grad(loss)
    args = (start(), *next(batches(*train, 0)))
    compiled(*args)
    print("The loss as a graph\n")
    print(compiled.ir())
    print("\nand its adjoint\n")
    print(compiled.ir("adjoint"), "\n")

    results = {
        "NumPy, @value_and_grad": learn("NumPy, @value_and_grad", compiled, train, held_out),
        "Tensors": learn_tensors(train, held_out),
    }
    steps = {"NumPy by hand": loss_by_hand, "@value_and_grad": compiled, "Tensors": tensor_step()}
    if shutil.which("cc"):
        with tempfile.TemporaryDirectory() as folder:
            kernel = imported_kernel(compiled, args, folder)
            results["imported kernel"] = learn("imported kernel", kernel, train, held_out)
            steps["imported kernel"] = kernel
    else:
        print("imported kernel: left out, because there is no C compiler to link it with (install gcc)")

    print("\nOne step: value and gradient of a batch of 64, median")
    times = microseconds(steps, args)
    for name, spent in times.items():
        print(f"  {name:<18} {spent:8.1f} µs   {times['NumPy by hand'] / spent:5.2f} x as fast as NumPy by hand")

    short = {name: right for name, right in results.items() if right < GOAL}
    if short:
        sys.exit(f"below {GOAL:.0%} on held-out digits: {short}")


if __name__ == "__main__":
    main()
