"""Random expressions over the names in a scope: floats of a wanted shape, tests, indices.

A shape is a tuple of dimensions, numbers or the name "m" of one that calls choose. Simple expressions come first,
values stay moderate, and the same name is used twice more often than chance would have it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.fuzz.choices import Choices

Dim = int | str
Shape = tuple[Dim, ...]

LONGEST = 5
"""What the named dimension counts as in estimates."""

SMOOTH = (
    "np.sin({0})", "np.tanh({0})", "{0} * {0}", "np.cos({0})", "np.exp(0.3 * {0})", "{0} / (1.5 + {0} * {0})",
    "np.sqrt(1.0 + {0} * {0})", "np.log1p({0} * {0})", "np.arctan({0})", "0.5 * {0}", "-{0}", "{0} ** 2",
    "{0} ** 3 * 0.1",
    "np.expm1(0.2 * {0})", "np.abs({0})", "np.square({0})", "np.arcsinh({0})", "1.0 - {0}", "np.sinh(0.4 * {0})",
    "np.maximum({0}, 0.25)", "np.minimum({0}, 0.75)", "np.clip({0}, -0.35, 0.65)", "2.0 ** (0.3 * {0})",
)  # fmt: skip

PAIRS = (
    "{0} * {1}", "{0} + {1}", "{0} - {1}", "{0} / (1.5 + {1} * {1})", "np.maximum({0}, {1})", "np.minimum({0}, {1})",
    "np.where({0} > {1}, {0}, {1} * 0.5)", "np.exp(-{0} * {0}) * {1}",
)  # fmt: skip


def length(dim: Dim) -> int:
    return dim if isinstance(dim, int) else LONGEST


def size(shape: Shape) -> int:
    made = 1
    for dim in shape:
        made *= length(dim)
    return made


def shown(shape: Shape) -> str:
    """A shape as Python."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def atom(text: str) -> str:
    """The expression in parentheses, if it needs them to stand anywhere."""
    depth = 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if not depth and c in " -":
            return f"({text})"
    return text


@dataclass
class Scope:
    """What a place in a program may read: floats with shapes, integers below a bound, arrays that may be written to.

    `own` are names that may get other values.
    """

    floats: dict[str, Shape] = field(default_factory=dict)
    ints: dict[str, int] = field(default_factory=dict)
    buffers: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    helpers: tuple[str, ...] = ()

    def inner(self, **floats: Shape) -> Scope:
        """The scope of a function within: it reads what is outside, but assigns nothing of it."""
        outside = {k: v for k, v in self.floats.items() if k not in floats}
        return Scope({**outside, **floats}, dict(self.ints), [], [], self.helpers)

    def copy(self) -> Scope:
        return replace(
            self, floats=dict(self.floats), ints=dict(self.ints), buffers=list(self.buffers), own=list(self.own)
        )


class Formulas:
    """Expressions over `scope`, drawn from `choices`."""

    def __init__(self, choices: Choices, scope: Scope, dims: tuple[Dim, ...]) -> None:
        self.c, self.scope, self.dims = choices, scope, dims

    def some(self, shapes: Any) -> list[str]:
        """The names whose shape passes a test, late ones first."""
        return [name for name, shape in reversed(self.scope.floats.items()) if shapes(shape)]

    def name(self, shape: Shape) -> str:
        """A name of this shape, or something simple made for it."""
        found = self.some(lambda s: s == shape)
        if found:
            return self.c.pick(*found[:4]) if self.c.below(4) < 3 else self.c.pick(*found)
        if not shape:
            return self.single(0)
        if len(shape) == 1:
            return f"(np.linspace(0.2, 1.1, {shape[0]}) * {self.name(())})"
        head, rest = shape[:1], shape[1:]
        return f"({self.name(head)}[{', '.join([':', *['None'] * len(rest)])}] * {self.name(rest)})"

    def of(self, shape: Shape, fuel: int = 2) -> str:
        """A float expression of this shape."""
        if fuel <= 0 or self.c.below(4) == 0:
            return self.name(shape)
        kind = self.c.weighted({"smooth": 30, "pair": 30, "twice": 10, "special": 30})
        if kind == "smooth":
            return atom(self.c.pick(*SMOOTH).format(self.of(shape, fuel - 1)))
        if kind == "pair":
            other: Shape = () if self.c.chance(25) else shape
            return atom(self.c.pick(*PAIRS).format(self.of(shape, fuel - 1), self.of(other, fuel - 1)))
        if kind == "twice":
            same = self.name(shape)
            return atom(self.c.pick(*PAIRS[:4]).format(same, same))
        if len(shape) > 2:
            return self.name(shape)
        return atom((self.single, self.row, self.matrix)[len(shape)](fuel, *shape))

    # ---- numbers

    def single(self, fuel: int, *_: Dim) -> str:
        """A number."""
        c = self.c
        rows, matrices = self.some(lambda s: len(s) == 1), self.some(lambda s: len(s) == 2)
        if fuel <= 0 or not (rows or matrices) or c.chance(20):
            return c.pick("0.5", "1.5", "0.25", "-0.75", "2.0")
        ways = []
        if rows:
            r = c.pick(*rows[:3])
            e = self.of(self.scope.floats[r], fuel - 1)
            same = self.of(self.scope.floats[r], fuel - 1)
            ways += [
                f"np.sum({e})", f"{r}[0]", f"np.mean({e})", f"({e} @ {same})", f"{r}[-1]", f"np.max({e})",
                f"np.prod({r})", f"np.linalg.norm({r} + 2.5)", f"np.einsum('i,i->', {r}, {same})", f"np.min({e})",
                f"np.dot({r}, {r})", f"np.sum({r}[1:])", f"{r}[np.argmax({r})]", f"np.cumsum({r})[-1]",
                f"np.sum(np.where({r} > 0.3, {e}, {same}))", f"np.sum({r}[::-1] * {r})", f"np.sum({r} > 0.1)",
                f"{r}[{self.index(self.scope.floats[r][0])}]",
            ]  # fmt: skip
        if matrices:
            m = c.pick(*matrices[:3])
            e = self.of(self.scope.floats[m], fuel - 1)
            ways += [f"np.sum({e})", f"{m}[0, -1]", f"np.mean({e})", f"np.sum({m} @ {m}.T)", f"np.max({m})",
                     f"np.sum(np.diag({m}))"]  # fmt: skip
        s, t = self.name(()), self.name(())
        ways += [f"({s} if {self.test(0)} else {t})", f"np.where({s} > {t}, {s} * {s}, {t})", f"max({s}, {t} * 0.5)",
                 f"abs({s})", f"math.tanh({s})"]  # fmt: skip
        ways += [f"{h}({s})" for h in self.scope.helpers]
        return c.pick(*ways)

    # ---- vectors

    def row(self, fuel: int, k: Dim) -> str:
        """A vector of k elements."""
        c = self.c
        e, r = self.of((k,), fuel - 1), self.name((k,))
        ways = [
            f"{r}[::-1]", f"np.cumsum({e})", f"np.roll({r}, 1)", f"np.concatenate([{r}[1:], {e}[:1]])",
            f"np.sort({e})",
            f"{r}[np.argsort({r})]", f"np.full({k}, {self.name(())})", f"({e} - np.mean({e}))", f"np.flip({e})",
            f"({r} / (1.0 + np.sum({r} * {r})))", f"(np.arange({k}) * {self.name(())} + {e})",
            f"{e} * np.sum({r})", f"np.where(np.arange({k}) % 2 == 0, {e}, {r})", f"np.cumprod(0.5 * {r})",
            f"{r}[(np.arange({k}) * 2 + 1) % {k}]", f"np.take({r}, np.arange({k}) // 2)",
            f"np.linalg.solve(4.0 * np.eye({k}) + np.outer(np.tanh({r}), np.tanh({e})) / {k}, {e})",
            f"({r}[:, None] * {e}[None, :]).sum({c.pick('0', '1')})", f"{r}[np.arange({k}) // {k}]",
            f"({r} * ({e} > 0.2))", f"np.repeat({r}, 2)[::2]", f"np.tile({r}, 2)[:{k}]", f"np.pad({r}, 1)[1:-1]",
            f"np.stack([{r}, {e}])[{c.pick('0', '1')}]", f"np.reshape({e}, ({k}, 1))[:, 0]",
        ]  # fmt: skip
        for name in self.some(lambda s: len(s) == 2 and k in s):
            s = self.scope.floats[name]
            if s[0] == k:
                ways += [
                    f"np.sum({name}, axis=1)",
                    f"{name}[:, 0]",
                    f"np.max({name}, axis=1)",
                    f"({name} @ {self.name(s[1:])})",
                ]
            if s[1] == k:
                ways += [f"{name}.sum(0)", f"{name}[-1]", f"np.mean({name}, axis=0)", f"({self.name(s[:1])} @ {name})"]
        for name in self.some(lambda s: len(s) == 1 and isinstance(s[0], int) and isinstance(k, int) and s[0] != k):
            at = [c.below(length(self.scope.floats[name][0])) for _ in range(length(k))]
            ways += [f"{name}[np.array({at})]"] if at else []
        if isinstance(k, int) and 0 < k < 4:
            ways.append(f"np.array([{', '.join(self.name(()) for _ in range(k))}])")
        return c.pick(*ways)

    # ---- matrices

    def matrix(self, fuel: int, k: Dim, j: Dim) -> str:
        """A matrix of k rows and j columns."""
        c = self.c
        e, m = self.of((k, j), fuel - 1), self.name((k, j))
        r, s = self.of((k,), fuel - 1), self.of((j,), fuel - 1)
        ways = [
            f"np.outer({r}, {s})", f"({r}[:, None] + {s})", f"({m} - np.mean({e}, axis=0))", f"{m}[::-1]",
            f"np.broadcast_to({s}, ({k}, {j}))", f"np.cumsum({e}, axis={c.pick('0', '1')})", f"np.transpose({m}).T",
            f"np.reshape(np.reshape({e}, -1), ({k}, {j}))",
            f"({m} / (1.0 + np.sum({m} * {m}, axis=1, keepdims=True)))",
            f"np.einsum('ij,j->ij', {m}, {s})", f"np.where({m} > 0.1, {e}, {m})",
            f"np.exp({m} - np.max({m}, axis=1, keepdims=True))",
            f"np.concatenate([{m}[:1], {e}[1:]])", f"({m} * {s}[::-1])", f"np.moveaxis({m}, 0, 1).T",
        ]  # fmt: skip
        if k == j:
            ways += [f"({m} @ {e})", f"{m}.T", f"np.diag({r})", f"np.tril({m})", f"({m} + {m}.T)"]
        if isinstance(k, int) and 0 < k < 4:
            ways.append(f"np.stack([{', '.join(self.name((j,)) for _ in range(k))}])")
        return c.pick(*ways)

    # ---- tests and indices

    def test(self, fuel: int = 1) -> str:
        """A condition on numbers, which parts values that are seldom near one another."""
        one = self.of((), fuel)
        simple = f"{one} {self.c.pick('>', '<')} {self.c.pick('0.11', '-0.37', '0.73', '1.39')}"
        kind = self.c.below(10)
        if kind < 7:
            return simple
        if kind == 7:
            return f"not {simple}"
        joined = self.c.pick("and", "or")
        return f"({simple} {joined} {self.of((), fuel)} {self.c.pick('<', '>')} 0.57)"

    def index(self, k: Dim) -> str:
        """An index into k elements."""
        counters = [name for name, bound in self.scope.ints.items() if bound <= (length(k) if k != "m" else 1)]
        return self.c.pick("0", "-1", *counters, *counters)
