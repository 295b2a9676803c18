"""Formulas as mathematics: read over SymPy's symbols and mpmath's numbers, and the table of partials derived.

`ops.elementwise` states each formula and each pull rule once, as a function of an algebra; `Text` here is that of
Python source, the others are in `ops.algebras`.

`python -m pullback.compiler.ops.formula` writes `ops/partials.py`: for each primitive without rules of its own
SymPy derives the partials, in terms of the arguments and of the result, and the form with the smallest error,
measured in units in the last place over the whole range, is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..ir.primitive import REGISTRY
from .algebras import Floats, Numbers, Symbols
from .elementwise import Elementwise
from .expression import read

TARGET = Path(__file__).with_name("partials.py")

#: digits with which derivatives are evaluated: two that should agree, and, where they do not because of
#: cancellation, enough for 1 - tanh(x)^2 wherever f64 tells it from 0
FEW, MORE, MOST = 60, 80, 800

#: the whole range of each domain, as least and greatest f64
RANGES = {
    "real": (-np.finfo(np.float64).max, np.finfo(np.float64).max),
    "positive": (5e-324, np.finfo(np.float64).max),
    "unit": (-math.nextafter(1, 0), math.nextafter(1, 0)),
    "above -1": (-math.nextafter(1, 0), np.finfo(np.float64).max),
}
RANGES["between poles"] = RANGES["real"]

class Code:
    """Python source with the strength of its outermost operator: 0 for sums, 1 products, 2 signs, 3 all else."""

    def __init__(self, text: str, strength: int = 3) -> None:
        self.text, self.strength = text, strength

    def at(self, strength: int) -> str:
        """The text, in brackets where the context binds more strongly."""
        return self.text if self.strength >= strength else f"({self.text})"

    def __neg__(self) -> Code:
        return Code("-" + self.at(2), 2)


def _infix(symbol: str, strength: int, swap: bool) -> Callable[[Code, Any], Code]:
    def join(left: Code, right: Any) -> Code:
        a, b = left, right if isinstance(right, Code) else Code(repr(right))
        if swap:
            a, b = b, a
        return Code(f"{a.at(strength)} {symbol} {b.at(strength + 1)}", strength)

    return join


for _name, _symbol, _strength in (("add", "+", 0), ("sub", "-", 0), ("mul", "*", 1), ("truediv", "/", 1)):
    setattr(Code, f"__{_name}__", _infix(_symbol, _strength, swap=False))
    setattr(Code, f"__r{_name}__", _infix(_symbol, _strength, swap=True))


class Text:
    """Source of a rule over an algebra called m."""

    def __getattr__(self, name: str) -> Callable[..., Code]:
        return lambda *args: Code(f"m.{name}({', '.join(self.number(a).text for a in args)})")

    @staticmethod
    def number(e: Any) -> Code:
        """A SymPy number, or what is code already."""
        if isinstance(e, Code):
            return e
        return Code(str(e) if getattr(e, "is_Integer", True) else repr(float(e)))


# ---- derivatives


def names(prim: Elementwise) -> tuple[str, ...]:
    """What the formula calls its arguments."""
    return prim.formula.__code__.co_varnames[1 : prim.arity + 1]


def symbols(prim: Elementwise) -> list[Any]:
    """A real symbol for each argument, positive where the domain is."""
    import sympy

    facts = {"positive": True} if prim.domain == "positive" else {"real": True}
    return [sympy.Symbol(n, **facts) for n in names(prim)]


def derivatives(prim: Elementwise) -> list[Any]:
    """What SymPy makes of the formula's partials; steps count as constant between their jumps."""
    import sympy

    xs = symbols(prim)
    formula = prim.formula(Symbols(), *xs)
    steps = {s: sympy.Dummy() for s in formula.atoms(sympy.floor, sympy.ceiling, sympy.sign)}
    flat = formula.xreplace(steps)
    back = {d: s for s, d in steps.items()}
    return [sympy.diff(flat, x).xreplace(back) for x in xs]


def exact(prim: Elementwise, points: Sequence[Sequence[float]]) -> list[list[Any]]:
    """The partials at each point, as mpmath's numbers of at least 40 digits."""
    xs = symbols(prim)
    return [[_settled(d, dict(zip(xs, p, strict=True))) for p in points] for d in derivatives(prim)]


def _settled(e: Any, at: Mapping[Any, float]) -> Any:
    """An expression's value, with so many digits that more would not change 40 of them."""
    from sympy.core.evalf import mp  # mpmath's context, which SymPy brings along

    made = []
    for digits in (FEW, MORE, MOST):
        with mp.workdps(digits):
            m = Numbers(mp)
            made.append(read(e, m, {x: mp.mpf(v) for x, v in at.items()}, m.number))
            if len(made) == 2 and made[1] and abs(made[1] - made[0]) <= mp.mpf(10) ** -40 * abs(made[1]):
                break
    return made[-1]


def ulps(got: float, want: Any) -> float:
    """How far `got` is from an exact number, in units of the last place of f64 there."""
    near = float(want)
    if math.isnan(got) or math.isinf(got) or math.isinf(near):
        return 0.0 if got == near else math.inf
    return float(abs(want - got) / np.spacing(abs(near)))


def points(prim: Elementwise, many: int = 120) -> list[tuple[float, ...]]:
    """Arguments over the whole range, of every magnitude; two arguments in all pairs."""
    low, high = RANGES[prim.domain]
    rng = np.random.default_rng(7)
    sizes = np.concatenate([10.0 ** rng.uniform(-320, 308, many), 10.0 ** rng.uniform(-3, 3, many)])
    edges = [abs(low), abs(high), 5e-324, 2.0**-1022, 1.0, 0.5, 36.0, 709.0, 745.0]
    even = np.linspace(-40, 40, many // 2)
    line = np.concatenate([sizes, even, 20 * even, edges, 1 - sizes, -sizes, -np.array(edges)])
    line = line[(line >= low) & (line <= high)]
    if prim.arity == 1:
        return [(x,) for x in line.tolist()]
    few = rng.choice(line, 24).tolist()
    return list(product(few, repeat=prim.arity))


def error(form: Any, prim: Elementwise, at: Sequence[Sequence[float]], want: Sequence[Any]) -> float:
    """The greatest error in ulps of a form of a partial, evaluated in NumPy with correct results r."""
    columns = [np.array(c) for c in zip(*at, strict=True)]
    with np.errstate(all="ignore"):
        env: Mapping[Any, Any] = dict(zip([*symbols(prim), _result()], [*columns, prim.numpy(*columns)], strict=True))
        got = np.broadcast_to(read(form, Floats(), env, Floats.number), len(at))
    return max(ulps(float(g), w) for g, w in zip(got, want, strict=True))


def _result() -> Any:
    import sympy

    return sympy.Symbol("r", real=True)


def partials(prim: Elementwise) -> list[tuple[str, float]]:
    """For each argument the source of the best form of the partial, and its error in ulps."""
    xs, r = symbols(prim), _result()
    formula = prim.formula(Symbols(), *xs)
    at = points(prim)
    env = {s: Code(s.name) for s in [*xs, r]}
    best = []
    for d, want in zip(derivatives(prim), exact(prim, at), strict=True):
        ranked = []
        for form in dict.fromkeys([d, d.subs(formula, r)]):
            text = read(form, Text(), env, Text.number)
            ranked.append((round(error(form, prim, at, want), 2), form.count_ops(), Text.number(text).text))
        worst, _, text = min(ranked)
        best.append((text, worst))
    return best


HEAD = '''"""Partials derived by SymPy from the formulas of `ops.elementwise` and `ops.elementary`.

Generated by `python -m pullback.compiler.ops.formula`; a test derives the table again and compares.
Each rule takes the algebra, the arguments and the result.
"""

PARTIALS = {
'''


def table() -> str:
    """The text of `ops/partials.py`."""
    rows = []
    for name, prim in sorted(REGISTRY.items()):
        if isinstance(prim, Elementwise) and prim.derived:
            head = ", ".join(["lambda m", *names(prim), "r"])
            rules = [f"{head}: {text}" for text, _ in partials(prim)]
            rows.append(f'    "{name}": ({", ".join(rules)}{"," * (len(rules) == 1)}),\n')
    return HEAD + "".join(rows) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(table(), encoding="utf-8")
