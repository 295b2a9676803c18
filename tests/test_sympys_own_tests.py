"""SymPy's own tests of lambdify, as the installed SymPy has them, with pullback's lambdify in place of SymPy's.

Those that ask for what a compiled function of floats is not, or does on purpose in another way, are in the table with
the reason. It can only shrink: one that passes, or is there no more, fails here.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pullback

MODULES = [
    "sympy.utilities.tests.test_lambdify",
    "sympy.printing.tests.test_numpy",
    "sympy.printing.tests.test_lambdarepr",
    "sympy.codegen.tests.test_matrix_nodes",
    "sympy.external.tests.test_numpy",
    "sympy.functions.elementary.tests.test_miscellaneous",
    "sympy.functions.elementary.tests.test_piecewise",
    "sympy.physics.mechanics.tests.test_jointsmethod",
    "sympy.solvers.tests.test_numeric",
]

DIGITS = "asks for mpmath's digits, and compiled code has floats"
SYMBOLIC = "asks for SymPy objects as results"
FREE = "leaves a symbol free, for a result with symbols in it: a symbol that is not among the arguments is an error"
SOURCE = "reads the source or the docstring of generated Python: there is none"
PRINTER = "hands a printer over, and nothing is printed"
FLOATS = "compares with whole numbers or fractions of SymPy by ==, and numbers are floats, whatever came"
JAX = "passes arrays of jax, which are refused: np.asarray(x) of them is passed"
COMPLEX = "calls functions of SciPy with complex numbers, which are traced for real ones"
MORE = "expects an error where pullback has the result"

DIFFERS = {
    "test_lambdify": {
        "test_str_args": "expr is a string, which SymPy evaluates as Python: pullback evaluates none",
        "test_sympy_lambda": SYMBOLIC, "test_mpmath_lambda": DIGITS, "test_number_precision": DIGITS,
        "test_mpmath_precision": DIGITS, "test_issue9474": DIGITS, "test_issue_12173": DIGITS,
        "test_sinc_mpmath": DIGITS, "test_lambdify_Derivative_zeta": DIGITS, "test_matrix": SYMBOLIC,
        "test_sym_integral": SYMBOLIC, "test_namespace_order": SYMBOLIC, "test_issue_14941": SYMBOLIC,
        "test_vector_discontinuous": "1/0 is an error of Python's, and infinity in floats, as in NumPy",
        "test_numpy_matrix": "a function is found by its name in NumPy: modules={'dot': np.dot} says so",
        "test_numpy_old_matrix": "asks for np.matrix", "test_scipy_sparse_matrix": "asks for a sparse result",
        "test_sym_single_arg": FREE, "test_sym_list_args": FREE, "test_issue_15827": FREE,
        "test_imps": f"{MORE}: functions are known by what they are, though both have one name",
        "test_lambdify_imps": "keys of a dict are computed, by which nothing of the result could be found",
        "test_dummification": SYMBOLIC,
        "test_curly_matrix_symbol": "passes a number for a matrix of two rows",
        "test_lambdify_docstring": SOURCE, "test_lambdify_linecache": SOURCE, "test_lambdify_inspect": SOURCE,
        "test_lambdify_docstring_size_limit_simple_symbol": SOURCE,
        "test_lambdify_docstring_size_limit_nested_expr": SOURCE,
        "test_lambdify_docstring_size_limit_matrix": SOURCE,
        "test_special_printers": PRINTER, "test_lambdify_Derivative_custom_printer": PRINTER,
        "test_amin_amax_minimum_maximum": "amin and amax make a number of an argument, which is read by elements",
        "test_Sum": FLOATS, "test_scipy_fns": COMPLEX, "test_scipy_polys": COMPLEX,
        "test_issue_17898": "compares with mpmath's complex value by ==",
        "test_scipy_bernoulli": "Bernoulli numbers of an argument are computed for whole numbers only",
        "test_jax_array_arg": JAX, "test_jax_array_arg_using_numpy": JAX,
        "test_deprecated_set": "args is a set, which has no order",
        "test_issue_13881": "X X^T of a column that is passed as a row: NumPy has one number for it, which is wrong",
    },
    "test_numpy": {
        "test_issue_17006": f"{MORE}: the size of an Identity(n) is read off the argument",
        "test_jax_tuple_compatibility": JAX,
        "test_lambdify_matrix_vec_input": "DeferredVector, which SymPy has given up: IndexedBase stands for an array",
    },
    "test_lambdarepr": {"test_sum__1": FLOATS, "test_sum__2": FLOATS, "test_multiple_sums": FLOATS},
    "test_matrix_nodes": {"test_matrix_solve_derivative_numpy": PRINTER},
    "test_numeric": {"test_nsolve": DIGITS},
}  # fmt: skip


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names that code and what is defined in it read."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _names(each)


LONG = {"test_double_integral"}
"""What is left out, as SymPy takes half a minute to look for a closed form that is not there."""


def _tests() -> list[Any]:
    """Each of SymPy's tests that calls lambdify, with what is said of it."""
    made = []
    for path in MODULES:
        module = importlib.import_module(path)
        short = path.rpartition(".")[2]
        for name, function in vars(module).items():
            code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
            if name.startswith("test") and name not in LONG and code is not None and "lambdify" in set(_names(code)):
                reason = DIFFERS.get(short, {}).get(name)
                made.append(pytest.param(module, function, reason, id=f"{short}::{name}"))
    return made


TESTS = _tests()


@pytest.mark.parametrize(("module", "function", "reason"), TESTS)
def test_of_sympy(module: Any, function: Callable[[], Any], reason: str | None, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "lambdify", pullback.lambdify)
    try:
        function()
    except Exception as error:
        if type(error).__name__ == "Skipped":
            pytest.skip(str(error))
        if reason is None:
            raise
        return
    assert reason is None, "passes: strike it from the table"


def test_the_table_has_no_other_names() -> None:
    known = {test.id for test in TESTS}
    assert {f"{short}::{name}" for short, names in DIFFERS.items() for name in names} <= known
    assert len(known) > 130
