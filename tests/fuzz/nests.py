"""Random programs: a function, and transforms of it under one another, up to the third order.

    def f(x, y, n): ...
    f1 = vmap(grad(f), in_axes=(0, None, None))
    def f2(x, y, n): return np.sum(f1(x, y, n) ** 2)
    main = jit(grad(f2))

`x` is what is differentiated mostly, `y` an array or a dict, `n` a count. A program is its text, the arguments of its
calls as text, and options to compile it with.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.bodies import Body, Counter, function
from tests.fuzz.choices import Choices
from tests.fuzz.formulas import Dim, Scope, Shape, shown, size

COSTLIEST = 48
"""Runs of the function that a derivative, element by element, may take."""

LARGEST = 24
"""Elements of a result."""

ARGS = "x, y, n"


@dataclass
class Program:
    """What is run: `source` makes a function main, `calls` are the texts of its arguments, one tuple for each call."""

    source: str
    calls: list[str]
    options: dict[str, object]
    order: int

    def text(self) -> str:
        """A file that shows what is wrong."""
        options = ", ".join(f"{k}={v!r}" for k, v in self.options.items())
        return "\n".join([HEADER, self.source, "", f"with settings.override({options}, cache=False):",
                          *[f"    print(main{call})" for call in self.calls], ""])  # fmt: skip


HEADER = """import math

import numpy as np

from pullback import (
    checkpoint, cond, fori_loop, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, scan,
    value_and_grad, vjp, vmap, while_loop,
)
from pullback.compiler.settings import settings
"""


class Nest:
    """Functions of `x, y, n`, each made of the one before; the last takes x of shape `s` and returns shape `t`."""

    def __init__(self, choices: Choices, s: Shape, y: Shape, order: int, most: int) -> None:
        self.c, self.lines, self.count = choices, list[str](), 0
        self.s, self.t, self.y, self.order, self.most, self.cost = s, Shape(), y, order, most, 1

    def becomes(self, value: str, t: Shape, order: int = 0, cost: int = 1, s: Shape | None = None) -> None:
        """The next function is what an expression gives."""
        self.count += 1
        self.lines.append(f"f{self.count} = {value}")
        self.t, self.order, self.cost = t, self.order + order, self.cost * cost
        self.s = self.s if s is None else s

    def define(self, value: str, t: Shape, order: int = 0, cost: int = 1, before: str = "") -> None:
        """The next function returns an expression, after some lines."""
        lines = [f"    {line}" for line in before.split("|") if line]
        at = len(self.lines)
        self.becomes("", t, order, cost)
        self.lines[at:] = ["", "", f"def {self.f}({ARGS}):", *lines, f"    return {value}", "", ""]

    @property
    def f(self) -> str:
        return f"f{self.count}" if self.count else "f"

    def step(self) -> None:
        """One more transform, of those that fit."""
        fit = [
            name for name in sorted(vars(Nest)) if name.startswith(("of_scalar_", "of_any_", "of_array_", "of_same_"))
        ]
        fit = [
            n
            for n in fit
            if not (n.startswith("of_scalar_") and self.t) and not (n.startswith("of_array_") and not self.t)
        ]
        fit = [n for n in fit if not (n.startswith("of_same_") and (self.t != self.s or not self.s))]
        fit += [n for n in fit if n.startswith("of_scalar_")]
        getattr(self, self.c.pick(*fit))()

    def may(self, order: int, cost: int = 1) -> bool:
        return self.order + order <= self.most and self.cost * cost <= COSTLIEST

    def vector(self, shape: Shape) -> str:
        """A direction, which is constant or not."""
        if shape == self.s:
            return self.c.pick("np.ones_like(x)" if shape else "1.0", "x", "np.cos(x)", "0.5 * x")
        return f"np.full({shown(shape)}, 0.5)" if shape else self.c.pick("1.0", "np.sum(x)", "np.cos(np.sum(x))")

    # ---- of functions with one number

    def of_scalar_grad(self) -> None:
        if self.may(1, size(self.s) + 1):
            self.becomes(f"grad({self.f}{self.c.pick('', '', '', ', max_memory=100000')})", self.s, 1, size(self.s) + 1)

    def of_scalar_other(self) -> None:
        if self.may(1, size(self.y) + 1):
            self.becomes(f"grad({self.f}, argnums=1)", self.y, 1, size(self.y) + 1)

    def of_scalar_both(self) -> None:
        if self.may(1, size(self.s) + size(self.y) + 1):
            value = self.c.pick("a * np.sum(b)", "a + np.sum(b * b)")
            before = f"a, b = grad({self.f}, argnums=(0, 1))({ARGS})"
            self.define(value, self.s, 1, size(self.s) + size(self.y) + 1, before=before)

    def of_scalar_value(self) -> None:
        if self.may(1, size(self.s) + 1):
            value = self.c.pick("v * g", "g / (1.0 + v * v)", "g + v")
            self.define(value, self.s, 1, size(self.s) + 1, before=f"v, g = value_and_grad({self.f})({ARGS})")

    def of_scalar_aux(self) -> None:
        if self.may(1, size(self.s) + 1):
            before = f"g, aux = grad(lambda z: ({self.f}(z, y, n), np.sin(z)), has_aux=True)(x)"
            self.define("g * aux", self.s, 1, size(self.s) + 1, before=before)

    def of_scalar_hvp(self) -> None:
        if self.may(2, size(self.s) + 1):
            self.define(f"hvp({self.f})({ARGS}, {self.vector(self.s)})", self.s, 2, size(self.s) + 1)

    def of_scalar_hessian(self) -> None:
        if self.may(2, (size(self.s) + 1) ** 2) and size(self.s) ** 2 <= LARGEST and len(self.s) < 2:
            self.becomes(f"hessian({self.f})", (*self.s, *self.s), 2, (size(self.s) + 1) ** 2)

    def of_scalar_containers(self) -> None:
        if self.may(1, 2 * size(self.s) + 1):
            made = f"lambda p: {self.f}(p['a'] * np.cos(p['b'][0]), y, n)"
            before = f"g = grad({made})({{'a': x, 'b': (np.sin(x), x)}})"
            self.define("g['a'] + g['b'][0] * x", self.s, 1, 2 * size(self.s) + 1, before=before)

    def of_scalar_closure(self) -> None:
        if self.may(1, size(self.s) + 1):
            value = f"grad(lambda z: {self.f}(z, y, n) * np.sum(x * z))({self.c.pick('x', 'np.cos(x)')})"
            self.define(value, self.s, 1, size(self.s) + 1)

    # ---- of any

    def of_any_jvp(self) -> None:
        if self.may(1, 2):
            made = f"jvp(lambda z: {self.f}(z, y, n), (x,), ({self.vector(self.s)},))"
            self.define(self.c.pick(f"{made}[1]", f"(lambda p: p[0] * p[1])({made})"), self.t, 1, 2)

    def of_any_vjp(self) -> None:
        if self.may(1, size(self.s) + 1):
            before = f"v, back = vjp(lambda z: {self.f}(z, y, n), x)"
            ct = self.c.pick("np.ones_like(v)" if self.t else "1.0", "v", "np.sin(v)")
            self.define(f"back({ct})[0]", self.s, 1, size(self.s) + 1, before=before)

    def of_any_jacobian(self) -> None:
        t = (*self.t, *self.s)
        if self.may(1, size(self.s) + 1) and size(t) <= LARGEST and len(t) < 4:
            self.becomes(f"{self.c.pick('jacfwd', 'jacrev')}({self.f})", t, 1, size(self.s) + 1)

    def of_any_vmap(self) -> None:
        if self.may(0, 2) and 2 * max(size(self.t), size(self.s)) <= LARGEST:
            back = self.c.chance(20) and bool(self.s)
            s: Shape = (*self.s, 2) if back else (2, *self.s)
            out = len(self.t) if self.c.chance(20) else 0
            t: Shape = (*self.t, 2) if out else (2, *self.t)
            where = f"in_axes=({len(self.s) if back else 0}, None, None)" + (f", out_axes={out}" if out else "")
            self.becomes(f"vmap({self.f}, {where})", t, 0, 2, s)

    def of_any_lanes(self) -> None:
        if self.may(0, 3) and 3 * size(self.t) <= LARGEST:
            value = f"vmap(lambda a: {self.f}(x * a, y, n))(np.array([0.5, 1.25, -0.75]))"
            self.define(value, (3, *self.t), 0, 3)

    def of_any_jit(self) -> None:
        self.becomes(
            self.c.pick(f"jit({self.f})", f"checkpoint({self.f})", f"jit({self.f}, max_memory=100000)"), self.t
        )

    def of_any_cond(self) -> None:
        if self.may(0, 2):
            other = self.c.pick("x * 0.5", "np.cos(x)", "x")
            arms = [
                f"lambda z: {self.f}(z, y, n)",
                f"lambda z: {self.f}({other.replace('x', 'z') if other != 'np.cos(x)' else 'np.cos(z)'}, y, n) * 0.5",
            ]
            if self.t == self.s and self.c.chance(50):
                arms[1] = "lambda z: z"
            self.define(f"cond(np.sum(x) > 0.31, {arms[0]}, {arms[1]}, x)", self.t, 0, 2)

    def of_any_branch(self) -> None:
        if self.may(0, 2):
            before = f"if np.sum(x) > 0.29:|    return {self.f}({ARGS}) * 0.5"
            self.define(f"{self.f}(np.sin(x), y, n)", self.t, 0, 2, before=before)

    def of_any_scan(self) -> None:
        if self.may(0, 3) and 2 * size(self.t) <= LARGEST:
            rows = f"np.stack([x, {self.c.pick('x', 'np.cos(x)')}])"
            step = f"lambda c, r: (np.tanh(c + np.sum({self.f}(r, y, n))), {self.f}(r * c, y, n))"
            before = f"end, rows = scan({step}, 0.5, {rows})"
            self.define("rows * end", (2, *self.t), 0, 4, before=before)

    def of_any_twice(self) -> None:
        if self.may(0, 2):
            self.define(f"{self.f}({ARGS}) * {self.f}({self.c.pick('x', 'np.sin(x)')}, y, n)", self.t, 0, 2)

    # ---- of functions with an array

    def of_array_sum(self) -> None:
        value = self.c.pick("np.sum({0})", "np.sum(np.sin({0}))", "np.sum({0} ** 2)", "np.mean(np.tanh({0}))")
        self.define(value.format(f"{self.f}({ARGS})"), ())

    def of_array_weights(self) -> None:
        if isinstance(self.t[0], int):
            self.define(f"np.sum({self.f}({ARGS})[{self.c.below(self.t[0])}])", ())

    def of_same_descent(self) -> None:
        if self.may(0, 3):
            before = f"for _ in range({self.c.pick('2', 'n', '1')}):|    x = x - 0.1 * {self.f}({ARGS})"
            self.define("x", self.s, 0, 3, before=before)

    def of_same_compose(self) -> None:
        if self.may(0, 2):
            value = self.c.pick(
                f"x + {self.f}({ARGS})", f"{self.f}(np.tanh({self.f}({ARGS})), y, n)", f"x * {self.f}({ARGS})"
            )
            self.define(value, self.s, 0, 2)


def program(choices: Choices, small: bool = False) -> Program:
    """A program with derivatives up to the third order; small ones have few statements and one compiled function."""
    c, most = choices, 3
    single = c.chance(30)
    k: Dim = c.pick(2, 3, "m", 1, 2)
    j: Dim = c.pick(2, k, 3, 1)
    s: Shape = c.pick((k,), (k,), (), (k, j)) if size((k, j)) <= 6 else c.pick((k,), (k,), ())
    y: Shape = c.pick((j,), (k,) if k != "m" else (j,), ())
    new, lines = Counter(), ["K = np.array([0.3, -0.7])", "", ""]
    helpers: tuple[str, ...] = ()
    if c.chance(10 if small else 40):
        helper = Body(c, Scope({"u": ()}), (2,), new)
        helper.most_order = 0
        lines += [*function("h", "u, n=2", helper, (), c.below(3)), "", ""]
        helpers = ("h",)
    scope = Scope({"K": (2,), "y": y, "x": s}, helpers=helpers)
    body = Body(c, scope, (k, j, 2), new)
    body.most_order = 0 if small else 1
    if "m" in s:
        body.out("m = x.shape[0]")
    elif "m" in y:
        body.out("m = y.shape[0]")
    dims = (k, j, 2) if "m" in s or k != "m" else (j, 2)
    body.dims = tuple(d for d in dims if d != "m" or "m" in s)
    t: Shape = c.pick((), (), s)
    lines += [*function("f", ARGS, body, t, 1 + c.below(1 if small else 4)), "", ""]
    nest = Nest(c, s, y, body.order, most)
    nest.t, nest.cost = t, body.weight
    for _ in range(1 + c.below(3 if small else 6)):
        nest.step()
    lines += nest.lines
    lines += ["", "", f"main = {c.pick('jit({})', 'jit({})', 'jit({})' if small else '{}').format(nest.f)}"]
    return Program("\n".join(lines), calls(c, nest.s, y, single), options(c), nest.order)


def calls(c: Choices, s: Shape, y: Shape, single: bool) -> list[str]:
    """The arguments of three calls: other values each time, and another size at the last."""
    first, singles = c.pick(3, 2, 4), (single, single and c.chance(50))
    sizes = [(first, 2), (first, c.pick(2, 0, 1))]
    if "m" in s:
        sizes.append((c.pick(4, 1, 5), c.pick(1, 3)))
    return [f"({_array(c, s, m, singles[0])}, {_array(c, y, m, singles[1])}, {n})" for m, n in sizes]


def _array(c: Choices, shape: Shape, m: int, single: bool) -> str:
    sizes = [m if d == "m" else d for d in shape]

    def nested(left: list[Dim]) -> str:
        if not left:
            return repr(c.number())
        return f"[{', '.join(nested(left[1:]) for _ in range(int(left[0])))}]"

    text = nested(sizes)
    if not shape:
        return text
    return f"np.array({text})" + (".astype(np.float32)" if single else "")


def options(c: Choices) -> dict[str, object]:
    """How it is compiled."""
    return {"level": c.pick(0, 0, 0, 0, 0, 0, 2), "vector_bits": c.pick(0, 0, 0, 128, 256)}
