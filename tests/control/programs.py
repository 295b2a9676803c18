"""Random structured programs: their text, and what is compared with plain Python.

    def f(x, y, n, a, b):
        a, b = a.copy(), b.copy()
        for i0 in range(n):
            if a[i0] < x:
                break
            y += a[1] * x
        ...
        return x * 1.0, y * 1.0, a * 1.0, b * 1.0

Loops and branches nest; break, continue and return stand anywhere; loops run no times; names are bound on some paths
only; arrays are aliased, viewed, swapped, written by items and slices, changed by helpers. `Writer` draws from
anything with the methods of `random.Random`, so that Hypothesis can shrink what it finds.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

HEAD = """import math

import numpy as np


def h(v):
    if v > 1:
        return v * 0.5
    return v + 1


def g(p, v):
    p[0] = v


def k(p, m):
    s = 0.0
    for j in range(m):
        if p[j] > 1.5:
            return s
        s += p[j] * 0.5
    return s


"""

RETURN = "return x * 1.0, y * 1.0, a * 1.0, b * 1.0"


class Writer:
    """One program. `scalars` and `arrays` are the names that may be read: some of them are bound on some paths only."""

    def __init__(self, random: Any, rich: bool = False) -> None:
        self.random, self.rich, self.lines, self.loops = random, rich, [], 0
        self.scalars, self.arrays = ["x", "y"], ["a", "b"]

    def pick(self, *options: str) -> str:
        return options[self.random.randint(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.random.randint(0, 99) < percent

    def out(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    # ---- expressions

    def number(self, depth: int = 0) -> str:
        which = self.random.randint(0, 99)
        if depth > 2 or which < 35:
            return self.pick(*self.scalars, "x", "y", "1.5", "2", "-1", "0.25")
        if which < 52:
            return f"{self.array()}[{self.index()}]"
        if which < 82:
            return f"({self.number(depth + 1)} {self.pick('+', '-', '*')} {self.number(depth + 1)})"
        if which < 88:
            return f"({self.number(depth + 1)} if {self.test(depth + 1)} else {self.number(depth + 1)})"
        one = self.number(depth + 1)
        return self.pick(
            f"math.tanh({one})", f"math.sin({one})", f"min({one}, {self.number(depth + 1)})", f"h({one})",
            f"({one} / (1.5 + {one} * {one}))", f"k({self.array()}, {self.pick('n', '2', '3')})", f"abs({one})",
            f"np.exp(-abs({one}))", f"({one} / {self.number(depth + 1)})" if self.chance(20) else f"max({one}, 0.5)",
        )  # fmt: skip

    def array(self) -> str:
        return self.pick(*self.arrays)

    def index(self) -> str:
        counters = [name for name in self.scalars if name.startswith("i")]
        return self.pick("0", "1", "-1", "n", "n % 3", "n + 1", *counters, *counters)

    def test(self, depth: int = 0) -> str:
        which = self.random.randint(0, 99)
        if which < 60 or depth > 3:
            return f"{self.number(depth + 1)} {self.pick('<', '>', '<=')} {self.number(depth + 1)}"
        if which < 70:
            return f"-1 < {self.number(depth + 1)} < 2"
        if which < 85:
            return f"({self.test(depth + 1)} {self.pick('and', 'or')} {self.test(depth + 1)})"
        return f"not {self.test(depth + 1)}"

    # ---- statements

    def statement(self, depth: int, loop: bool) -> None:
        if self.rich and self.chance(35):
            self.of_structures(depth)
            return
        which = self.random.randint(0, 99)
        if which < 30:
            self.assign(depth)
        elif which < 44:
            self.store(depth)
        elif which < 57:
            self.rename(depth)
        elif which < 72 and depth < 4:
            self.branch(depth, loop)
        elif which < 90 and depth < 4:
            self.loop(depth, loop)
        elif which < 96 and loop:
            self.out(depth, self.pick("break", "continue"))
        elif which < 98:
            self.out(depth, f"return {self.number()} * 1.0, {self.number()} * 1.0, a * 1.0, b * 1.0")
        else:
            self.assign(depth)

    def assign(self, depth: int) -> None:
        if self.chance(35):
            self.out(depth, f"{self.pick('x', 'y')} {self.pick('+=', '-=', '*=')} {self.number()}")
            return
        name = self.pick("x", "y", "z", "w")
        self.out(depth, f"{name} = {self.number()}")
        if name not in self.scalars and (depth == 1 or self.chance(50)):
            self.scalars.append(name)

    def store(self, depth: int) -> None:
        place = self.pick(*[f"[{self.index()}]"] * 5, "[1:3]", "[:2]", "[::2]")
        self.out(depth, f"{self.array()}{place} {self.pick('=', '=', '+=', '*=')} {self.number()}")

    def rename(self, depth: int) -> None:
        """Another name for an array, a copy, a view, a new array; or what changes one."""
        name, source = self.pick("a", "b", "c", "d"), self.array()
        line = self.pick(
            f"{name} = {source}", f"{name} = {source}.copy()", f"{name} = {source} + {self.number()}",
            f"{name} = {source}[::-1]", "a, b = b, a", f"{name} = {source} * 0.5", f"{source} *= 0.5",
            f"{name} = np.zeros(4)", f"g({source}, {self.number()})", f"{name} = np.tanh({source})",
        )  # fmt: skip
        self.out(depth, line)
        if line.startswith(f"{name} =") and name not in self.arrays and depth == 1:
            self.arrays.append(name)

    def of_structures(self, depth: int) -> None:
        """Matrices, their rows and slices, lists, tuples, dicts, other ways to loop; each ends what it begins."""
        lines = self.pick(
            f"m[{self.index()}, {self.index()}] {self.pick('=', '+=', '*=')} {self.number()}",
            f"m[{self.index()}] {self.pick('=', '+=')} {self.array()} * {self.number(2)}",
            f"m[1:, {self.index()}] = {self.number()}",
            f"r = m[{self.index()}]|r[{self.index()}] = {self.number()}|x += m[0, 1]",
            f"for r in m:|    y += r[{self.index()}] * x|    r[0] = y if y < 2 else x",
            f"for q, r in zip({self.array()}, m):|    if q > {self.number(2)}:|        break|    x += q * r[1]",
            f"for j, q in enumerate({self.array()}):|    if q < x:|        continue|    y += q * j",
            f"for q in reversed({self.array()}):|    x = x * 0.5 + q * {self.number(2)}",
            f"out = []|for j in range(3):|    out.append({self.number()})|y = sum(out) + out[-1]",
            f"x = sum([q * {self.number(2)} for q in {self.array()} if q < y])",
            "s = {'u': x, 'v': y}|for j in range(n):|    s['u'] = s['u'] * 0.5 + s['v']|x = s['u']",
            f"s = (x, y)|for j in range(3):|    s = (s[1], s[0] * 0.5 + {self.number(2)})|x, y = s",
            f"j = 0|while True:|    j += 1|    x = x * 0.5 + {self.number(2)}|    if x > y or j > 3:|        break",
            f"{self.array()}[{self.array()} > {self.number(2)}] = {self.number(2)}",
            "x += a[n : n + 2].sum() if n < 3 else b.sum()",
            f"x = {self.array()} @ {self.array()} * 0.25 + m[{self.index()}].sum()",
            f"v = lambda t: t * {self.number(2)} if t > 0 else x|y = v(y) + v(x)",
            "m = m.T * 0.5|m = m + np.outer(a, b)",
        )
        for line in lines.split("|"):
            self.out(depth, line)

    def branch(self, depth: int, loop: bool) -> None:
        self.out(depth, f"if {self.test()}:")
        self.body(depth + 1, loop)
        if self.chance(20):
            self.out(depth, f"elif {self.test()}:")
            self.body(depth + 1, loop)
        if self.chance(50):
            self.out(depth, "else:")
            self.body(depth + 1, loop)

    def loop(self, depth: int, loop: bool) -> None:
        number, self.loops = self.loops, self.loops + 1
        if self.chance(25):
            self.out(depth, f"w{number} = 0")
            self.out(depth, f"while w{number} < 3 and {self.test()}:")
            self.out(depth + 1, f"w{number} += 1")
            self.body(depth + 1, True)
        else:
            name = f"i{number}"
            self.out(depth, f"for {name} in range({self.pick('3', 'n', '0', '2', 'n + 1', 'n - 1')}):")
            self.scalars.append(name)
            self.body(depth + 1, True)
            if self.chance(80) and name in self.scalars:
                self.scalars.remove(name)
        if self.chance(15):
            self.out(depth, "else:")
            self.body(depth + 1, loop)

    def body(self, depth: int, loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, loop)

    def program(self) -> str:
        if self.chance(90):
            self.out(1, "a, b = a.copy(), b.copy()")
        if self.rich:
            self.out(1, "m = np.outer(a, b) + 0.5")
        for _ in range(self.random.randint(3, 7)):
            self.statement(1, False)
        return "\n".join([f"{HEAD}def f(x, y, n, a, b):", *self.lines, f"    {RETURN}", ""])


def loaded(source: str, folder: Path, name: str) -> ModuleType:
    """The program as a module with a file, so that its source is found."""
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
