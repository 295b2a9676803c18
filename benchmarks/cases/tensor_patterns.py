"""Training steps of Tensors as people write them: batches, schedules, layers, and losses of every kind."""

from __future__ import annotations

from collections.abc import Iterator

import objectives
import patterns
from harness import Case

from cases.tensor_steps import case

AS_FAST = ("torch", 1.0)

TRAINING = {
    "batches by slices": patterns.slices,
    "batches shuffled by index": patterns.shuffled,
    "an epoch of a DataLoader, 10 batches": patterns.epoch,
    "batch norm": patterns.batch_norm,
    "layer norm": patterns.layer_norm,
    "gradients clipped by their norm": patterns.clipping,
    "momentum and weight decay": patterns.momentum,
    "Adam with a scheduler": patterns.scheduled,
    "SGD by hand": patterns.by_hand,
    "gradients of 4 parts accumulated": patterns.accumulated,
    "mean teacher, a moving average of weights": patterns.averaged,
    "convolutional network, 8 x 8, batch 16": patterns.convolution,
    "embedding, 100 words, Adam": patterns.embedding,
    "multi-head attention, 4 x 10 x 32": patterns.attention,
}
OBJECTIVES = {
    "variational autoencoder": objectives.autoencoder,
    "variational autoencoder by distributions": objectives.inference,
    "policy gradient by distributions": objectives.policy,
    "loss and activation looked at before backward": objectives.watched,
    "generative adversarial networks": objectives.adversaries,
    "deep Q-learning": objectives.q_learning,
    "loss with a derivative in it": objectives.differential_equation,
    "matrix factorisation by index": objectives.factors,
    "Rosenbrock's function, Adam": objectives.valley,
    "Hamiltonian Monte Carlo, 5 leaps": objectives.hamiltonian,
}


def cases(size: str) -> Iterator[Case]:
    for name, program in TRAINING.items():
        yield case(f"Tensors: {name}", program, AS_FAST)
    length = 3 if size == "tiny" else 12
    for kind in ("GRU", "LSTM"):
        name = f"Tensors: {kind} layer, {length} steps, hidden 16, batch 16"
        yield case(name, lambda torch, kind=kind: patterns.recurrent(torch, kind, length), AS_FAST)
    for name, program in OBJECTIVES.items():
        yield case(f"Tensors: {name}", program, AS_FAST)
