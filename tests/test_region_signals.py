"""A signal ends loops that run long or for ever, however they are nested, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys

_INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.types import Type
from pullback.compiler.ops import elementwise as e
from pullback.compiler.ops.source import number
from tests.region_graphs import F, N, V, region, scanned, twice
from pullback.compiler.ops.control import loop
from pullback.compiler.ops.tape import new_tape, push

signal.signal(signal.SIGINT, signal.default_int_handler)

def never(b, x):
    "while x < x + 1: x = x * 0.5"
    body = region([N, F], lambda b, k, x: [e.mul(b, x, number(b, 0.5, F))])
    test = region([F], lambda b, x: [e.lt(b, x, e.add(b, x, number(b, 1.0, F)))])
    return b.emit(loop, x, regions=(body, test), carries=1)[:1]

def long(b, x):
    return scanned(b, 2**40, lambda b, i, x: [e.mul(b, x, number(b, 0.5, F))], [x])

def unknown(b, x):
    return scanned(b, e.cast(b, e.mul(b, x, number(b, 1e15, F)), dtype="i64"), lambda b, i, x: [twice(b, x)], [x])

def short_ones(b, x):
    "a long loop of short loops, none of which takes the time to look"
    def some(b, i, x):
        n = e.cast(b, e.minimum(b, e.mul(b, x, number(b, 1e9, F)), number(b, 9000.0, F)), dtype="i64")
        return scanned(b, n, lambda b, i, x: [e.sub(b, number(b, 0.7, F), x)], [x])
    return scanned(b, 2**40, some, [x])

def arrays(b, x, a):
    def row(b, i, a, x):
        return [e.add(b, a, e.mul(b, a, a))]
    return scanned(b, 2**40, row, [a], x)

cases = {"never": (never, [F]), "long": (long, [F]), "unknown": (unknown, [F]), "short ones": (short_ones, [F]),
         "arrays": (arrays, [F, V])}
for name, (main, types) in cases.items():
    kernel = compile_graph(region(types, main))
    args = [np.array(0.25), np.ones(4)][: len(types)]
    sent = []
    def send():
        time.sleep(0.05)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    sender = threading.Thread(target=send)
    try:
        sender.start()
        kernel.run(args)
        raise SystemExit(name + " ended")
    except KeyboardInterrupt:
        waited = time.perf_counter() - sent[0]
        sender.join()
    print(name, waited)
    assert waited < 0.25, (name, waited)
"""


def test_a_signal_ends_every_kind_of_loop() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, (done.stdout, done.stderr[-2000:])

