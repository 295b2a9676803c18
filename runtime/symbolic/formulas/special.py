"""Special functions, complex parts and cases, by their class, as plans: formulas over `scipy.special` and primitives.

    rules()[sympy.besselj]     a formula over the functions of `scipy.special`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ....compiler.ops.expression import Plan, UnknownFunction
from ..shared.library import codegen_module, sympy_module
from . import algebraic
from .algebras import Probe, RealAlgebra, load_scipy
from .functions import COMPLEX, FIXED, REAL, SPECIAL, WHOLE

CODEGEN = ("cfunctions", "numpy_nodes", "scipy_nodes")
"""The modules of `sympy.codegen` that have functions of floats."""


def rules() -> dict[type, Callable[[Any, Any, Mapping[Any, Any]], Plan | None]]:
    sympy = sympy_module()

    from sympy.physics.units.prefixes import Prefix

    made: dict[type, Any] = {Prefix: _prefix}
    for name in SPECIAL:
        made |= {getattr(place, name): _special for place in _modules() if hasattr(place, name)}
    made |= {getattr(sympy, name): _complex for name in COMPLEX}
    made |= {type(sympy.I): _imaginary, sympy.polygamma: _polygamma, sympy.LambertW: _lambert}
    made |= {sympy.SingularityFunction: _as_piecewise, sympy.Contains: _contains}
    made |= {sympy.LeviCivita: _permuted, sympy.subfactorial: _subfactorial}
    return made


def _modules() -> list[Any]:
    """Where SymPy has functions."""
    return [sympy_module(), *[getattr(codegen_module(), name) for name in CODEGEN]]


def _special(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    name, args = type(e).__name__, e.args
    if name == "KroneckerDelta":
        args = args[:2]  # the third is a range that sums are told
    if name in WHOLE and not args[0].is_Integer:
        fix = f"modules={{'{name}': function}} gives one for others"
        raise UnknownFunction(f"{e}: the degree is {args[0]}, and whole numbers are computed; {fix}")
    for each in _called(name, len(args)):
        load_scipy(each, reader.complex)
    if args and args[0].is_Integer and (name, int(args[0])) in FIXED:
        return Plan((name, int(args[0])), args[1:], FIXED[name, int(args[0])])
    return Plan((name, len(args)), args, SPECIAL[name])


@cache
def _called(name: str, arity: int) -> tuple[str, ...]:
    """The functions of SciPy that a formula calls: a trace that imported them would note that files are read."""
    probe = Probe()
    SPECIAL[name](probe, *[probe] * arity)
    return tuple(probe.names)


def _complex(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    name = type(e).__name__
    if name != "conjugate" and (made := algebraic.of_parts(reader, e)) is not None:
        return made
    return Plan(name, e.args, lambda m, x: (REAL if isinstance(m, RealAlgebra) else COMPLEX)[name](m, x))


def _imaginary(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    if not reader.complex:
        raise UnknownFunction("I is not a real number: lambdify(args, expr, dtype=complex) computes with complex ones")
    return Plan("I", (), lambda m: 1j)


def _polygamma(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan | None:
    order, x = e.args
    if not (order.is_Integer and order >= 0):
        raise UnknownFunction(f"{e} is computed for whole orders from 0 on only")
    n = int(order)
    return Plan(("polygamma", n), (x,), lambda m, x: m.polygamma(x, n=n) if n else m.psi(x))


def _lambert(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    branch = e.args[1] if len(e.args) > 1 else 0
    if branch not in (0, -1):
        raise UnknownFunction(f"{e} is real on the branches 0 and -1 only")
    name = "lambertw_below" if branch == -1 else "lambertw"
    return Plan((name,), e.args[:1], lambda m, x: getattr(m, name)(x))


def _prefix(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return Plan(("prefix", e), (e.scale_factor,), lambda m, term: term)


def _as_piecewise(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    sympy = sympy_module()

    made = e.rewrite(sympy.Piecewise)
    return Plan(("rewritten", e), (made,), lambda m, term: term)


def _permuted(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return Plan(("rewritten", e), (e.doit(),), lambda m, term: term)


def _subfactorial(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """SymPy would write it with complex numbers, which rounding does not take back."""
    if e.is_number:
        return Plan((e.doit(),), (), lambda m: float(e.doit()))
    fix = "modules={'subfactorial': function} gives one: round(factorial(n) / e) is it for whole n from 1 on"
    raise UnknownFunction(f"{e}: subfactorial is of whole numbers only, and {e.args[0]} is any: {fix}")


def _contains(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    made = e.args[1].as_relational(e.args[0])
    return Plan(("rewritten", e), (made,), lambda m, term: term)


__all__ = ["rules"]
