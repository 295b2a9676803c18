"""Equations of motion of `sympy.physics.mechanics` as compiled right-hand sides, the mass matrix solved numerically.

    f = equations_of_motion(KanesMethod(...), [m, l, g])
    f(t, y, p)                  dy/dt of the state y = (q, u), for parameters p
    f.with_jacobian(t, y, p)    the same, and its Jacobian by y
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiled.derive import Jit
from ..compiled.function import Function
from ..derivatives.jacobians import jacobian
from .arguments import told
from .lambdified import lambdify
from .library import sympy_module


class Motion(Function):
    """dy/dt = f(t, y, p), compiled; `states`, `parameters` and `inputs` name the elements of y and p."""

    def __init__(self, system: Any, parameters: Any = None, inputs: Any = None) -> None:
        mass, forcing, rates, states = _equations(system)
        known = _known(mass, forcing, rates, states, parameters, inputs)
        self._set_up(states, *known, lambdify([_time(), states, [*known[0], *known[1]]], [mass, forcing, rates]))
        self._made_of = (system, parameters, inputs)

    def _set_up(self, states: Any, parameters: Any, inputs: Any, parts: Callable[..., Any]) -> None:
        def motion(t: Any, y: Any, p: Any = ()) -> Any:
            mass, forcing, rates = parts(t, y, p)
            return np.concatenate([rates[:, 0], np.linalg.solve(mass, forcing)[:, 0]])

        super().__init__(motion, Jit())
        self.states, self.parameters, self.inputs = tuple(states), tuple(parameters), tuple(inputs)
        slope = jacobian(motion, argnums=1)
        self.with_jacobian = Function(lambda t, y, p=(): (motion(t, y, p), slope(t, y, p)), Jit())


def equations_of_motion(
    system: Any, parameters: Sequence[Any] | None = None, inputs: Sequence[Any] | None = None
) -> Motion:
    """The compiled right-hand side f(t, y, p) of a mechanical system's equations of motion.

    system       a KanesMethod, LagrangesMethod or System of `sympy.physics.mechanics`, whose equations are formed; or a
                 tuple (mass matrix, forcing, q, u) of M du/dt = forcing, with dq/dt = u
    parameters   symbols whose values stand first in p, in this order; by default all that occur, sorted by name
    inputs       functions of time, such as forces, whose values follow in p; by default all that occur, sorted by name

    y has the coordinates q and then the speeds u: `f.states`. The mass matrix is solved at every call, never inverted
    symbolically. f differentiates in y and p, and `f.with_jacobian` gives the Jacobian by y in the same call. Holonomic
    and other constraints with multipliers are refused.

    >>> from sympy import symbols, sin, Matrix
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> q, u = dynamicsymbols("q u")
    >>> g = symbols("g")
    >>> f = equations_of_motion((Matrix([[1]]), Matrix([-g * sin(q)]), [q], [u]))
    >>> f(0.0, np.array([0.5, 1.0]), [9.81]).round(4)
    array([ 1.    , -4.7032])
    """
    return Motion(system, parameters, inputs)


def _time() -> Any:
    from sympy.physics.mechanics import dynamicsymbols

    return dynamicsymbols._t


def _equations(system: Any) -> tuple[Any, Any, Any, list[Any]]:
    """M, the forcing, dq/dt as a column, and the states."""
    sympy = sympy_module()

    if isinstance(system, tuple):
        mass, forcing, q, u = system
        return sympy.Matrix(mass), sympy.Matrix(forcing), sympy.Matrix(list(u)), [*q, *u]
    inner = getattr(system, "eom_method", None) or system
    if not (hasattr(type(inner), "mass_matrix") and hasattr(type(inner), "forcing")):
        fix = "a KanesMethod, LagrangesMethod or System, or (mass matrix, forcing, q, u)"
        raise TypeError(f"equations_of_motion: the system is {told(system)}, expected {fix}")
    try:
        mass, forcing = inner.mass_matrix, inner.forcing
    except ValueError as error:
        fix = "call its kanes_equations(...) or form_lagranges_equations() first"
        raise ValueError(f"equations_of_motion: the equations are not formed ({error}): {fix}") from None
    q, u = list(inner.q), list(inner.u)
    if mass.rows != mass.cols or mass.rows != len(u):
        raise ValueError(
            f"equations_of_motion: the mass matrix is {mass.rows} x {mass.cols} for {len(u)} speeds: systems with "
            "multipliers or dependent coordinates are not solved"
        )
    rates = inner.kindiffdict() if hasattr(inner, "kindiffdict") else {}
    t = _time()
    moving = [rates.get(x.diff(t), x.diff(t)) for x in q]
    return mass, forcing, sympy.Matrix(moving), [*q, *u]


def _known(
    mass: Any, forcing: Any, rates: Any, states: Sequence[Any], parameters: Any, inputs: Any
) -> tuple[list[Any], list[Any]]:
    """The parameters and inputs: those given, or those that occur."""
    from sympy.physics.mechanics import find_dynamicsymbols

    occurring = mass.free_symbols | forcing.free_symbols | rates.free_symbols
    if parameters is None:
        parameters = sorted(occurring - {_time()}, key=str)
    if inputs is None:
        moving = find_dynamicsymbols(mass) | find_dynamicsymbols(forcing) | find_dynamicsymbols(rates)
        inputs = sorted(moving - set(states), key=str)
    return list(parameters), list(inputs)


__all__ = ["Motion", "equations_of_motion"]
