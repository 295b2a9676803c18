"""Numbers that remember how they were computed: programs run with them serve other sizes, or say that they do not."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pullback.compiler.ir.formulas import Formulas
from pullback.compiler.ir.symint import (
    COMPARED,
    COMPUTED,
    OF_ONE,
    SymFloat,
    SymInt,
    SymSizes,
    example,
    larger,
    rough,
    smaller,
)

UNARY: dict[str, Any] = {
    "neg": lambda x: -x, "abs": abs, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "round": round,
    "bit_length": lambda x: x.bit_length(),
}  # fmt: skip


def applied(op: str, a: Any, b: Any) -> Any:
    """What a program computes: with numbers, or with what stands for them."""
    if op in ("min", "max"):
        return (smaller if op == "min" else larger)(a, b)
    return UNARY[op](a) if op in UNARY else COMPUTED[op](a, b) if op in COMPUTED else COMPARED[op](a, b)


def program(choices: list[tuple[int, int, int, int]], sizes: list[Any]) -> list[Any]:
    """Computes and decides; all it does depends on the sizes and on `choices`, which are the same for all of them."""
    names, tests = sorted((COMPUTED.keys() | OF_ONE.keys()) - {"lshift"}), sorted(COMPARED)
    values: list[Any] = [*sizes, 3, -2, 0.5]
    table: dict[Any, int] = {}
    for first, second, third, kind in choices:
        a, b = values[first % len(values)], values[second % len(values)]
        op = names[third % len(names)]
        if op in ("and_", "or_", "xor", "rshift", "bit_length") and not (isinstance(a, int) and isinstance(b, int)):
            op = "sub"
        if op == "rshift":
            b = smaller(abs(b), 8)
        if kind % 5 == 0 and first % len(values) < len(sizes) + 2:  # what a table may be asked for
            made = values[table.setdefault(a, first % len(values))]
        elif kind % 7 == 0:
            made = a if applied(tests[kind % len(tests)], a, b) else b
        elif kind % 11 == 0:
            made = sum(k * a for k in range(abs(int(b)) % 4))
        else:
            try:
                made = applied(op, a, b)
            except (ArithmeticError, ValueError):
                made = a
        values.append(made if abs(example(made)) < 10**9 else 7)
    return values


CHOICES = st.lists(st.tuples(*[st.integers(0, 200)] * 4), min_size=1, max_size=30)
SIZES = st.lists(st.integers(0, 40), min_size=2, max_size=2)


@given(CHOICES, st.lists(SIZES, min_size=2, max_size=8))
def test_formulas_are_what_the_program_computes(choices: list[Any], many: list[list[int]]) -> None:
    formulas, tables = Formulas(), [3, -2]
    for k, sizes in enumerate(many):
        symbols = SymSizes()
        try:
            made = program(choices, [symbols.symbol(n) for n in sizes])
        except ArithmeticError:
            continue
        assert list(map(example, made)) == program(choices, sizes)
        formulas.add(symbols, made, k, tables)
        found = formulas.at(sizes)
        assert found is not None and list(found[0]) == program(choices, sizes)
    kept = json.loads(json.dumps(formulas.packed({k: k for k in range(len(many))})))
    again = Formulas.unpacked(kept, range(len(many)))
    assert again.count == formulas.count and again.made() == formulas.made()
    for sizes in many:
        for other in ([n + 1 for n in sizes], [2 * n + 3 for n in sizes], sizes[::-1]):
            found = formulas.at(other)
            assert repr(again.at(other)) == repr(found)
            if found is not None:
                want = program(choices, other)
                assert list(found[0]) == want and list(map(type, found[0])) == list(map(type, want)), found[1]


def test_what_needs_a_plain_number_fixes_it() -> None:
    plain: list[Any] = [
        lambda n: list(range(n)), lambda n: [0] * n, lambda n: f"{n:d}", lambda n: str(n), lambda n: [1] * 9 + [n][:n],
        lambda n: np.zeros(n), lambda n: math.sqrt(n), lambda n: int(n), lambda n: float(n), lambda n: "abcdefgh"[n],
    ]  # fmt: skip
    for ask in plain:
        symbols = SymSizes()
        n = symbols.symbol(5)
        ask(n)
        formulas = Formulas()
        formulas.add(symbols, [n * 2], "five")
        assert formulas.at([5]) == ((10,), "five") and formulas.at([6]) is None


def test_they_pass_for_numbers() -> None:
    n: Any = SymSizes().symbol(12)
    assert isinstance(n, int) and isinstance(n / 5, float) and type(n) is SymInt and type(n / 5) is SymFloat
    assert example(math.prod((n, 2, n))) == 288 and example(sum([n, n, 1])) == 25 and example(np.int64(3) - n) == -9
    assert example(divmod(n, 5)[0]) == 2 and example(divmod(100, n)[1]) == 4 and example(max(n, 3)) == 12
    assert n + 0 is n and n * 1 is n and n * 0 == 0 and type(n * 0) is int
    assert n != "12" and n != None  # noqa: E711
    assert {n: "a"}[12] == "a" and n in (11, 12)


def test_ways_that_part_are_told_apart() -> None:
    formulas = Formulas()

    def way(n: Any) -> Any:
        return n * 3 if n > 10 else n // 2 if n % 2 == 0 else -n

    for n in (20, 4, 5):
        symbols = SymSizes()
        formulas.add(symbols, [way(symbols.symbol(n))], n)
    for n in range(40):
        found = formulas.at([n])
        assert found is not None and found[0] == (way(n),) and found[1] == (20 if n > 10 else 5 if n % 2 else 4)


def test_what_tables_found_to_differ_differs() -> None:
    symbols = SymSizes()
    n, m = symbols.symbol(5), symbols.symbol(7)
    count = len({n, m, 9})
    formulas = Formulas()
    formulas.add(symbols, [count], "", [9, n])
    assert formulas.at([6, 8]) == ((3,), "")
    assert formulas.at([6, 6]) is None and formulas.at([9, 8]) is None


def test_rough_numbers_serve_those_of_about_their_size() -> None:
    symbols = SymSizes()
    assert rough(symbols.symbol(20), 64) == 20 and rough(20, 64) == 20
    formulas = Formulas()
    formulas.add(symbols, [1], "")
    assert [n for n in range(200) if formulas.at([n])] == list(range(8, 32))
    symbols = SymSizes()
    assert rough(symbols.symbol(900), 64) == 900
    formulas = Formulas()
    formulas.add(symbols, [1], "")
    assert formulas.at([70]) and formulas.at([10**6]) and not formulas.at([20])


def test_guards_are_undone() -> None:
    symbols = SymSizes()
    n = symbols.symbol(5)
    assert n > 2
    before = len(symbols.guards)
    assert n < 6
    symbols.undo(before)
    formulas = Formulas()
    formulas.add(symbols, [n], "")
    assert formulas.at([60]) == ((60,), "") and formulas.at([2]) is None


@pytest.mark.parametrize("numbers", [(0, 0.0), (0.0, -0.0), (1, 1.0)])
def test_equal_constants_of_other_kinds_stay_apart(numbers: tuple[Any, Any]) -> None:
    symbols = SymSizes()
    n = symbols.symbol(4)
    made = [n + 0.5 + numbers[0], (n + 0.5) * numbers[0], (n + 0.5) * numbers[1]]
    formulas = Formulas()
    formulas.add(symbols, made, "")
    found = formulas.at([9])
    assert found is not None and repr(list(found[0])) == repr([9.5 + numbers[0], 9.5 * numbers[0], 9.5 * numbers[1]])
