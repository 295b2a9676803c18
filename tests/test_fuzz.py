"""Six hundred small programs under nests of transforms, with fixed seeds; `make fuzz` runs more, and larger ones.

Also what the fuzzer itself rests on: its numbers with derivatives, and how it makes programs small.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tests.fuzz import plainly
from tests.fuzz.compositions import Difference, compare, examine, same
from tests.fuzz.duals import Dual, Undecided, base, computed, lift, slope
from tests.fuzz.kinds import run_compositions
from tests.fuzz.nests import Program
from tests.fuzz.shrink import shrunk

PROGRAMS, BLOCK = 600, 50

COMPARED = 0.85
"""The share of programs that must be compared: neither refused nor left undecided."""


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_programs_mean_what_they_say(first: int) -> None:
    counts: Counter[str] = Counter()
    for number in range(first, first + BLOCK):
        verdict, text = run_compositions(number, small=True, reference=number % 4 == 0)
        assert not verdict.startswith("WRONG"), f"program {number}: {verdict}\n{text}"
        counts[verdict.split(":")[0]] += 1
    assert counts["equal"] >= COMPARED * BLOCK, counts


# ---- the fuzzer's own meanings

SLOPES = {
    "sin": np.cos, "cos": lambda x: -np.sin(x), "exp": np.exp, "log": lambda x: 1 / x, "log1p": lambda x: 1 / (1 + x),
    "expm1": np.exp, "sqrt": lambda x: 0.5 / np.sqrt(x), "tanh": lambda x: 1 / np.cosh(x) ** 2, "sinh": np.cosh,
    "cosh": np.sinh, "arctan": lambda x: 1 / (1 + x * x), "arcsinh": lambda x: 1 / np.sqrt(1 + x * x),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("exactly", [False, True])
def test_duals_have_the_derivatives_of_calculus(name: str, exactly: bool) -> None:
    with computed(exactly):
        made = getattr(Dual(lift(0.7), 1, lift(1.0)), name)()
        assert math.isclose(base(made), getattr(np, name)(0.7), rel_tol=1e-14)
        assert math.isclose(base(slope(made, 1)), SLOPES[name](0.7), rel_tol=1e-14)


def test_duals_nest_to_any_order() -> None:
    f = lambda x: x**3 / (1.0 + x) - 2.0**x  # noqa: E731
    third = plainly.grad(plainly.grad(plainly.grad(f)))(lift(0.5))
    assert math.isclose(base(third), 6.0 / 1.5**4 - math.log(2.0) ** 3 * 2.0**0.5, rel_tol=1e-12)


def test_derivatives_of_different_names_stay_apart() -> None:
    inner = plainly.grad(lambda x: x * plainly.grad(lambda y: x + y)(lift(1.0)))(lift(2.0))
    assert base(inner) == 1.0


def test_what_is_nearly_the_same_is_undecided() -> None:
    with pytest.raises(Undecided):
        assert lift(0.3) > lift(0.1 + 0.2)
    assert not lift(0.5) > lift(0.5)


def test_a_wrong_program_is_found_and_made_small() -> None:
    lines = ["def f(x, y, n):", "    a = np.sin(x)", "    b = a * 2.0", "    return np.sum(a * b) + n", "main = f", ""]
    source = "\n".join(lines)
    small = shrunk(source, lambda text: "np.sin" in text and "main" in text)
    assert len(small) < 60 and "np.sin" in small
    wrong = Program("calls = []\n\ndef main(x):\n    calls.append(x)\n    return x * len(calls)\n", ["(1.5,)"], {}, 0)
    with pytest.raises(Difference, match="called again"):
        examine(wrong)


def test_differences_are_seen() -> None:
    program = Program("def main():\n    return 1.0\n", [], {}, 0)
    assert compare("native", [1.0, {"a": np.ones(2)}], [1.0, {"a": np.ones(2)}], "()", program) == "equal"
    for wrong in (1.0 + 1e-6, np.nan, np.ones(1)):
        with pytest.raises(Difference):
            compare("native", wrong, 1.0, "()", program)
    with pytest.raises(Difference):
        same("bits", np.float64(0.0), np.float64(-0.0))
