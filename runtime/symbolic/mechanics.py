"""Equations of motion of `sympy.physics.mechanics` as compiled right-hand sides, the mass matrix solved numerically.

    f = equations_of_motion(KanesMethod(...), [m, l, g])
    f(t, y, p)                     dy/dt of the state y = (q, u), for parameters p
    f.with_jacobian(t, y, p)       the same, and its Jacobian by y
    f.with_multipliers(t, y, p)    the same, and the multipliers of the constraints
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend import process
from ...compiler.ops.duals import NoSlopes, plain
from ...compiler.ops.expression import Signed, signed_sum
from ..compiled.derive import Jit
from ..compiled.function import Function
from ..compiled.tracebacks import boundary
from ..derivatives.jacobians import jacobian
from ..derivatives.products import vjp
from ..vmap import vmap
from .formulas.arguments import told
from .lambdified import lambdify
from .shared.library import sympy_module
from .slopes import Both, values_and_slopes

ZERO: Signed = 0.0, False


class Equations(NamedTuple):
    """mass * (du/dt, multipliers) = forcing and dq/dt = rates; forcing and rates are columns."""

    mass: Any
    forcing: Any
    rates: Any
    q: list[Any]
    u: list[Any]
    multipliers: list[Any]


class Motion(Function):
    """dy/dt = f(t, y, p), compiled; `states`, `parameters` and `inputs` name the elements of y and p."""

    def __init__(self, system: Any, parameters: Any = None, inputs: Any = None) -> None:
        made = _equations(system)
        known = _known(made, parameters, inputs)
        args = [_time(), [*made.q, *made.u], [*known[0], *known[1]]]
        parts = lambdify(args, [made.mass, made.forcing])
        self._set_up(made, parts, _rates_of(made, args), values_and_slopes(parts, args[1]))
        self.states, self.multipliers = (*made.q, *made.u), tuple(made.multipliers)
        self.parameters, self.inputs = (tuple(each) for each in known)
        self._made_of = (system, parameters, inputs)

    def _set_up(
        self, made: Equations, parts: Any, rates: tuple[Callable[..., Any], Callable[..., Any]],
        both: Callable[..., Both],
    ) -> None:
        speeds, unknowns = len(made.u), made.mass.shape[0]
        moving, slope = rates

        def solved(t: Any, y: Any, p: Any = ()) -> tuple[Any, Any]:
            mass, forcing = parts(t, y, p)
            found = np.linalg.solve(mass, forcing)[:, 0]
            return np.concatenate([moving(t, y, p), found[:speeds]]), found[speeds:]

        def motion(t: Any, y: Any, p: Any = ()) -> Any:
            return solved(t, y, p)[0]

        def with_jacobian(t: Any, y: Any, p: Any = ()) -> tuple[Any, Any]:
            y = np.stack(y) if isinstance(y, (list, tuple)) else y
            y = y if y.dtype.kind == "f" else y.astype(float)
            try:
                mass, found, below = _by_slopes(both(t, y, p), unknowns, len(made.q) + speeds)
            except NoSlopes:
                mass, found, below = _by_pullbacks(parts, t, y, p, unknowns)
            # d(M^-1 f) = M^-1 (df - dM M^-1 f)
            below = np.linalg.solve(mass, below)[:speeds]
            value = np.concatenate([moving(t, y, p), found[:speeds]])
            return value, np.concatenate([slope(t, y, p), below])

        super().__init__(motion, Jit())
        self.with_jacobian = Function(with_jacobian, Jit())
        self.with_multipliers = Function(solved, Jit())


@boundary
def equations_of_motion(
    system: Any, parameters: Sequence[Any] | None = None, inputs: Sequence[Any] | None = None
) -> Motion:
    """The compiled right-hand side f(t, y, p) of a mechanical system's equations of motion.

    system       a KanesMethod, LagrangesMethod, JointsMethod or System of `sympy.physics.mechanics`, its equations
                 formed; or a tuple (mass matrix, forcing, q, u) of M du/dt = forcing, with dq/dt = u
    parameters   symbols whose values stand first in p, in this order; by default all that occur, sorted by name
    inputs       functions of time, such as forces, whose values follow in p; by default all that occur, sorted by name

    y has the coordinates q and then the speeds u: `f.states`. The mass matrix is solved at every call, never inverted
    symbolically. f differentiates in y and p, and `f.with_jacobian` gives the Jacobian by y in the same call. Where
    Lagrange's method has constraints, their multipliers are solved for with the accelerations: `f.multipliers` names
    them, `f.with_multipliers` gives (dy/dt, multipliers). Constraints are kept in their derivatives, so y has to begin
    on them.

    >>> from sympy import symbols, sin, Matrix
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> q, u = dynamicsymbols("q u")
    >>> g = symbols("g")
    >>> f = equations_of_motion((Matrix([[1]]), Matrix([-g * sin(q)]), [q], [u]))
    >>> f(0.0, np.array([0.5, 1.0]), [9.81]).round(4)
    array([ 1.    , -4.7032])
    """
    with process.uncollected():
        return Motion(system, parameters, inputs)


def _time() -> Any:
    from sympy.physics.mechanics import dynamicsymbols

    return dynamicsymbols._t


def _equations(system: Any) -> Equations:
    sympy = sympy_module()

    if isinstance(system, tuple):
        mass, forcing, q, u = system
        if len(q) != len(u):
            raise ValueError(f"equations_of_motion: {len(q)} coordinates for {len(u)} speeds: dq/dt = u needs as many")
        return _checked(Equations(sympy.Matrix(mass), sympy.Matrix(forcing), sympy.Matrix(list(u)), [*q], [*u], []))
    inner = getattr(system, "eom_method", None) or getattr(system, "method", None) or system
    if not (hasattr(type(inner), "mass_matrix") and hasattr(type(inner), "forcing")):
        fix = "a KanesMethod, LagrangesMethod, JointsMethod or System, or (mass matrix, forcing, q, u)"
        raise TypeError(f"equations_of_motion: the system is {told(system)}, expected {fix}")
    try:
        mass, forcing = inner.mass_matrix, inner.forcing
    except ValueError as error:
        fix = "call its kanes_equations(...), form_lagranges_equations() or form_eoms() first"
        raise ValueError(f"equations_of_motion: the equations are not formed ({error}): {fix}") from None
    q, u = list(inner.q), list(inner.u)
    multipliers = list(getattr(inner, "lam_vec", ()))
    if multipliers:  # the constraints, differentiated until accelerations are in them, stand below the equations
        mass, forcing = inner.mass_matrix_full[len(q) :, len(q) :], inner.forcing_full[len(q) :, :]
    rates = inner.kindiffdict() if hasattr(inner, "kindiffdict") else {}
    t = _time()
    slopes = [sympy.Derivative(x, t) for x in q]  # `x.diff(t)` takes a third of a millisecond to make the same
    moving = [rates.get(slope, slope) for slope in slopes]
    return _checked(Equations(mass, forcing, sympy.Matrix(moving), q, u, multipliers))


def _rates_of(made: Equations, args: list[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """dq/dt and its Jacobian by y, as functions of (t, y, p): where they are speeds, nothing is computed."""
    places = {state: k for k, state in enumerate(args[1])}
    if all(rate in places for rate in made.rates):
        found = [places[rate] for rate in made.rates]
        constant, first = np.eye(len(places))[found], found[0]
        behind = first + len(found)
        in_order = found == [*range(first, behind)]  # as the speeds are, in most systems

        def moving(t: Any, y: Any, p: Any) -> Any:
            whole = in_order and not isinstance(y, (list, tuple))
            return y[first:behind] if whole else np.stack([y[k] for k in found])

        return moving, lambda t, y, p: constant
    rates = lambdify(args, made.rates)
    slope = jacobian(lambda t, y, p: rates(t, y, p)[:, 0], argnums=1)
    return lambda t, y, p: rates(t, y, p)[:, 0], slope


def _by_slopes(both: Both, unknowns: int, states: int) -> tuple[Any, Any, Any]:
    """Mass matrix, accelerations and df - dM M^-1 f: what does not depend on a state is not computed with."""
    m, values, slopes = both
    numbers = [m.array(m.term(value)) for value in values]
    mass = np.stack(numbers[: unknowns**2]).reshape(unknowns, unknowns)
    found = np.linalg.solve(mass, np.stack(numbers[unknowns**2 :])[:, None])[:, 0]
    moves, rows = [m.term(found[n]) for n in range(unknowns)], []
    for k, row in enumerate(slopes[unknowns**2 :]):
        made = dict(row)
        for n, entry in enumerate(slopes[k * unknowns : (k + 1) * unknowns]):
            for state, (slope, minus) in entry.items():
                part = slope * moves[n], not minus
                made[state] = signed_sum(made[state], part) if state in made else part
        rows += [m.array(plain(made.get(state, ZERO))) for state in range(states)]
    return mass, found, np.stack(rows).reshape(unknowns, states)


def _by_pullbacks(parts: Any, t: Any, y: Any, p: Any, unknowns: int) -> tuple[Any, Any, Any]:
    """The same by as many pullbacks as the mass matrix has rows."""
    (mass, forcing), pull = vjp(lambda y: tuple(parts(t, y, p)), y)
    found = np.linalg.solve(mass, forcing)[:, 0]
    return mass, found, vmap(lambda row: pull((-np.outer(row, found), row[:, None]))[0])(np.eye(unknowns))


def _checked(made: Equations) -> Equations:
    """The equations, if there are as many as unknowns."""
    count = len(made.u) + len(made.multipliers)
    if not (made.q and made.u):
        missing = "speeds" if made.q else "coordinates"
        raise ValueError(f"equations_of_motion: the system has no {missing}, so there is no state that could move")
    for what, matrix, want in (("mass matrix", made.mass, (count, count)), ("forcing", made.forcing, (count, 1))):
        if matrix.shape != want:
            found, expected = (f"{rows} x {columns}" for rows, columns in (matrix.shape, want))
            unknowns = f"{len(made.u)} speeds and {len(made.multipliers)} multipliers"
            raise ValueError(f"equations_of_motion: the {what} is {found} for {unknowns}, expected {expected}")
    return made


def _known(made: Equations, parameters: Any, inputs: Any) -> tuple[list[Any], list[Any]]:
    """The parameters and inputs: those given, or those that occur."""
    if parameters is None or inputs is None:
        symbols, moving = occurring([*made.mass, *made.forcing, *made.rates], _time())
        if parameters is None:
            parameters = sorted(symbols - {_time()}, key=str)
        if inputs is None:
            inputs = sorted(moving - {*made.q, *made.u}, key=str)
    return list(parameters), list(inputs)


def occurring(expressions: Sequence[Any], t: Any) -> tuple[set[Any], set[Any]]:
    """Their free symbols, and their functions of t and derivatives of these."""
    from sympy.core.function import AppliedUndef
    from sympy.physics.mechanics import find_dynamicsymbols

    parts, binding = _parts(expressions)
    symbols, moving = _symbols(parts, binding), set()
    for e in parts:
        if isinstance(e, (AppliedUndef, sympy_module().Derivative)) and _symbols(*_parts([e])) == {t}:
            moving.add(e)
        elif e in binding:
            moving |= find_dynamicsymbols(e)
    return symbols, moving


def _parts(expressions: Sequence[Any]) -> tuple[set[Any], set[Any]]:
    """All parts of expressions, each once, and those that bind symbols, whose own parts are not among them.

    SymPy's `free_symbols` goes through a subexpression as often as it occurs, which grows faster than what there is to
    go through.
    """
    plain = sympy_module().Basic.free_symbols
    ways: dict[type, Any] = {}  # by the classes: asked themselves, functions have what FunctionClass tells of them
    parts: set[Any] = set()
    binding: set[Any] = set()
    below = list(expressions)
    while below:
        e = below.pop()
        if e in parts:
            continue
        parts.add(e)
        kind = type(e)
        if kind not in ways:
            ways[kind] = next(vars(each)["free_symbols"] for each in kind.__mro__ if "free_symbols" in vars(each))
        if ways[kind] is plain:
            below += e.args
        elif e.args:
            binding.add(e)
    return parts, binding


def _symbols(parts: set[Any], binding: set[Any]) -> set[Any]:
    """The free symbols of parts: what SymPy tells of those that bind some."""
    found: set[Any] = set()
    for e in parts:
        if e.is_Atom or e in binding:
            found |= e.free_symbols
    return found


__all__ = ["Motion", "equations_of_motion"]
