"""Mechanical systems, with and without constraints: value, Jacobian and second derivatives against 60 digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics as me
from sympy.physics.mechanics import models
from sympy.utilities.exceptions import SymPyDeprecationWarning, ignore_warnings

import pullback
from pullback.runtime.symbolic.mechanics import occurring

System = Any
t = me.dynamicsymbols._t
m, g, length, k, c, R = sp.symbols("m g length k c R", positive=True)


def symbols(names: str) -> Any:
    return me.dynamicsymbols(names)


def lagrange(lagrangian: Any, q: list[Any], *constraints: Any, **more: Any) -> System:
    method = me.LagrangesMethod(lagrangian, q, hol_coneqs=list(constraints) or None, **more)
    method.form_lagranges_equations()
    return method


# ---- the systems


def cart_pole() -> System:
    x, a, force = symbols("x a F")
    speed = x.diff(t) ** 2 * 2 + (x.diff(t) + length * a.diff(t) * sp.cos(a)) ** 2 * m / 2
    energy = speed + m * (length * a.diff(t) * sp.sin(a)) ** 2 / 2 - m * g * length * sp.cos(a)
    frame, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(frame, x.diff(t) * frame.x)
    return lagrange(energy, [x, a], forcelist=[(origin, (force - c * x.diff(t)) * frame.x)], frame=frame)


def sphere() -> System:
    """A particle that a constraint keeps on a sphere."""
    x, y, z = symbols("x y z")
    kinetic = m * (x.diff(t) ** 2 + y.diff(t) ** 2 + z.diff(t) ** 2) / 2
    return lagrange(kinetic - m * g * z, [x, y, z], x**2 + y**2 + z**2 - R**2)


def cartesian_double_pendulum() -> System:
    x, y, v, w = symbols("x y v w")
    kinetic = sum((q.diff(t) ** 2 for q in (x, y, v, w)), sp.S(0)) * m / 2
    rods = x**2 + y**2 - length**2, (v - x) ** 2 + (w - y) ** 2 - R**2
    return lagrange(kinetic - m * g * (y + w), [x, y, v, w], *rods)


def sliding_ladder() -> System:
    """A rolling constraint among velocities, and one that depends on time."""
    x, y, a = symbols("x y a")
    kinetic = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + m * length**2 * a.diff(t) ** 2 / 24
    method = me.LagrangesMethod(
        kinetic - m * g * y, [x, y, a],
        hol_coneqs=[y - R * sp.sin(t)], nonhol_coneqs=[x.diff(t) * sp.sin(a) - y.diff(t) * sp.cos(a)],
    )  # fmt: skip
    method.form_lagranges_equations()
    return method


def springs() -> System:
    """Five masses in a ring of springs that are not linear."""
    q = symbols("q0:5")
    kinetic = m * sum((x.diff(t) ** 2 for x in q), sp.S(0)) / 2
    stretched = [q[j] - q[j - 1] for j in range(5)]
    return lagrange(kinetic - sum((k * s**2 / 2 + c * s**4 / 4 for s in stretched), sp.S(0)), list(q))


def bead_on_a_hoop() -> System:
    a, spin = symbols("a"), symbols("w")
    kinetic = m * R**2 * (a.diff(t) ** 2 + spin**2 * sp.sin(a) ** 2) / 2
    return lagrange(kinetic + m * g * R * sp.cos(a), [a])


def rolling_disc(dependent: bool) -> System:
    """SymPy's example; the contact either in the speeds, or as constraints of dependent ones."""
    q1, q2, q3 = symbols("q1 q2 q3")
    u1, u2, u3, u4, u5, u6 = symbols("u1 u2 u3 u4 u5 u6")
    frame = me.ReferenceFrame("N")
    yaw = frame.orientnew("Y", "Axis", [q1, frame.z])
    lean = yaw.orientnew("L", "Axis", [q2, yaw.x])
    disc = lean.orientnew("R", "Axis", [q3, lean.y])
    turning = disc.ang_vel_in(frame)
    disc.set_ang_vel(frame, u1 * lean.x + u2 * lean.y + u3 * lean.z)
    contact, center = me.Point("C"), me.Point("D")
    contact.set_vel(frame, u4 * lean.x + u5 * (yaw.z ^ lean.x) + u6 * yaw.z if dependent else 0)
    center.set_pos(contact, R * lean.z)
    center.v2pt_theory(contact, frame, disc)
    inertia = me.inertia(lean, m * R**2 / 4, m * R**2 / 2, m * R**2 / 4)
    body = me.RigidBody("disc", center, disc, m, (inertia, center))
    kinematic = [turning.dot(e) - u for e, u in zip((lean.x, lean.y, lean.z), (u1, u2, u3), strict=True)]
    loads = [(center, -m * g * yaw.z)]
    if not dependent:
        method = me.KanesMethod(frame, [q1, q2, q3], [u1, u2, u3], kd_eqs=kinematic)
        method.kanes_equations([body], loads)
        return method
    q4, q5, q6 = symbols("q4 q5 q6")
    moved = contact.vel(frame)
    kinematic += [q.diff(t) - moved.dot(e) for q, e in zip((q4, q5, q6), (frame.x, frame.y, frame.z), strict=True)]
    still = disc.ang_vel_in(frame).cross(-R * lean.z)
    slip = [(center.vel(frame) + still).dot(e) for e in (lean.x, yaw.z ^ lean.x, yaw.z)]
    method = me.KanesMethod(
        frame, [q1, q2, q3, q4, q5], [u1, u2, u3], kd_eqs=kinematic, q_dependent=[q6],
        configuration_constraints=[q6], u_dependent=[u4, u5, u6], velocity_constraints=slip,
    )  # fmt: skip
    method.kanes_equations([body], loads)
    return method


def four_bar_linkage() -> System:
    """SymPy's example: three rods in a row, and the end of the last one held by constraints."""
    q1, q2, q3, u1, u2, u3 = symbols("q1 q2 q3 u1 u2 u3")
    frame = me.ReferenceFrame("N")
    rods = [frame.orientnew(name, "Axis", [q, frame.z]) for name, q in zip("ABC", (q1, q2, q3), strict=True)]
    for rod, u in zip(rods, (u1, u2, u3), strict=True):
        rod.set_ang_vel(frame, u * frame.z)
    points = [me.Point("P0")]
    points[0].set_vel(frame, 0)
    for j, (rod, size) in enumerate(zip(rods, (length, R, length), strict=True)):
        points.append(points[-1].locatenew(f"P{j + 1}", size * rod.x))
        points[-1].v2pt_theory(points[-2], frame, rod)
    particles = [me.Particle(f"p{j}", point, m) for j, point in enumerate(points[1:3])]
    closed = points[3].pos_from(points[0]) - R * frame.x
    ends = [closed.dot(frame.x), closed.dot(frame.y)]
    method = me.KanesMethod(
        frame, [q1], [u1], kd_eqs=[q.diff(t) - u for q, u in zip((q1, q2, q3), (u1, u2, u3), strict=True)],
        q_dependent=[q2, q3], configuration_constraints=ends, u_dependent=[u2, u3],
        velocity_constraints=[points[3].vel(frame).dot(e) for e in (frame.x, frame.y)],
    )  # fmt: skip
    method.kanes_equations(particles, [(point, -m * g * frame.y) for point in points[1:3]])
    return method


def spinning_body() -> System:
    """A free rigid body by Euler parameters, whose rates are no speeds."""
    e0, e1, e2, e3, u1, u2, u3, torque = symbols("e0 e1 e2 e3 u1 u2 u3 T")
    frame, body = me.ReferenceFrame("N"), me.ReferenceFrame("B")
    body.orient(frame, "Quaternion", [e0, e1, e2, e3])
    body.set_ang_vel(frame, u1 * body.x + u2 * body.y + u3 * body.z)
    center = me.Point("O")
    center.set_vel(frame, 0)
    rigid = me.RigidBody("b", center, body, m, (me.inertia(body, k, c, R), center))
    turned = sp.Matrix([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]]) * sp.Matrix([u1, u2, u3]) / 2
    kinematic = [e.diff(t) - rate for e, rate in zip((e0, e1, e2, e3), turned, strict=True)]
    method = me.KanesMethod(frame, [e0, e1, e2, e3], [u1, u2, u3], kd_eqs=kinematic)
    method.kanes_equations([rigid], [(body, torque * body.z)])
    return method


def joints() -> System:
    """A slider with a pendulum, out of bodies and joints."""
    with ignore_warnings(SymPyDeprecationWarning):
        wall, slider, bob = me.Body("W"), me.Body("S"), me.Body("P")
        first = me.PrismaticJoint("J", wall, slider)
        second = me.PinJoint("K", slider, bob, child_point=length * bob.y)
        bob.apply_force(-m * g * wall.y)
        method = me.JointsMethod(wall, first, second)
        method.form_eoms()
    return method


def system_of_joints() -> System:
    """SymPy's System, with a holonomic constraint and Kane's method."""
    wall = me.RigidBody("W")
    rods = [me.RigidBody(name) for name in "AB"]
    q1, q2, u1, u2 = symbols("q1 q2 u1 u2")
    made = me.System.from_newtonian(wall)
    arm = length / 2
    made.add_joints(
        me.PinJoint("J1", wall, rods[0], q1, u1, child_point=-arm * rods[0].x, joint_axis=wall.z),
        me.PinJoint("J2", rods[0], rods[1], q2, u2, parent_point=arm * rods[0].x, child_point=-arm * rods[1].x,
                    joint_axis=rods[0].z),
    )  # fmt: skip
    made.apply_uniform_gravity(-g * wall.y)
    tip = rods[1].masscenter.locatenew("tip", arm * rods[1].x)
    made.add_holonomic_constraints(tip.pos_from(made.fixed_point).dot(wall.y))
    made.q_ind, made.q_dep, made.u_ind, made.u_dep = [q1], [q2], [u1], [u2]
    made.form_eoms()
    return made


SYSTEMS: list[Callable[[], System]] = [
    cart_pole, sphere, cartesian_double_pendulum, sliding_ladder, springs, bead_on_a_hoop, four_bar_linkage,
    spinning_body, joints, system_of_joints,
    lambda: rolling_disc(False), lambda: rolling_disc(True),
]  # fmt: skip
NAMES = [each.__name__ for each in SYSTEMS[:-2]] + ["rolling_disc", "rolling_disc_of_dependent_speeds"]


# ---- what they are compared with


def exactly(system: System, motion: Any) -> Callable[..., Any]:
    """dy/dt and the multipliers, by SymPy's own full matrices, with mpmath's numbers."""
    args = [t, *motion.states, *motion.parameters, *motion.inputs]
    parts = [sp.Matrix(system.mass_matrix_full), sp.Matrix(system.forcing_full)]
    if not hasattr(system, "lam_vec") or not system.lam_vec:
        inner = getattr(system, "eom_method", None) or getattr(system, "method", None) or system
        if hasattr(inner, "kindiffdict"):  # as q' may be left in what SymPy makes
            parts = [part.xreplace(inner.kindiffdict()) for part in parts]
    made = sp.lambdify(args, parts, "mpmath")

    def exact(*numbers: Any) -> Any:
        mass, forcing = made(*numbers)
        return mpmath.lu_solve(mass, forcing)

    return exact


def along(f: Callable[[Any], Any], order: int) -> np.ndarray:
    """The derivative of f(s) at 0, by differences with 60 digits."""
    h = mpmath.mpf(10) ** -15
    found = (f(h) - f(-h)) / (2 * h) if order == 1 else (f(h) - 2 * f(mpmath.mpf(0)) + f(-h)) / h**2
    return np.array([float(x) for x in found])


@pytest.mark.parametrize("make", SYSTEMS, ids=NAMES)
def test_systems(make: Callable[[], System]) -> None:
    system = make()
    f = pullback.equations_of_motion(system)
    rng = np.random.default_rng(len(f.states))
    y, p = rng.uniform(0.3, 0.9, len(f.states)), rng.uniform(0.8, 1.7, len(f.parameters) + len(f.inputs))
    time, size = 0.4, len(f.states)
    exact = exactly(system, f)
    with mpmath.workdps(60):
        at = [mpmath.mpf(x) for x in (time, *y, *p)]

        def moved(direction: np.ndarray) -> Callable[[Any], Any]:
            return lambda s: exact(*[x + s * mpmath.mpf(d) for x, d in zip(at, direction, strict=True)])

        want = np.array([float(x) for x in exact(*at)])
        scale = np.max(np.abs(want))
        value, slope = f.with_jacobian(time, y, p)
        np.testing.assert_allclose(f(time, y, p), want[:size], rtol=1e-11, atol=1e-12 * scale)
        np.testing.assert_allclose(value, want[:size], rtol=1e-11, atol=1e-12 * scale)
        value, multipliers = f.with_multipliers(time, y, p)
        np.testing.assert_allclose(np.concatenate([value, multipliers]), want, rtol=1e-11, atol=1e-12 * scale)
        assert len(multipliers) == len(f.multipliers) == len(want) - size
        basis = np.eye(len(at))[1 : 1 + size]
        columns = np.stack([along(moved(e), 1)[:size] for e in basis], 1)
        np.testing.assert_allclose(slope, columns, rtol=1e-9, atol=1e-11 * np.max(np.abs(columns)))
        direction = rng.uniform(-1, 1, len(at))
        direction[0] = 0.0
        by_y, by_p = direction[1 : 1 + size], direction[1 + size :]
        twice = along(moved(direction), 2)[:size]

        def push(s: float) -> Any:
            return f.with_jacobian(time, y + s * by_y, p + s * by_p)[1] @ by_y + pullback.jvp(
                lambda p: f(time, y + s * by_y, p), (p + s * by_p,), (by_p,)
            )[1]

        found = pullback.jvp(push, (0.0,), (1.0,))[1]
        np.testing.assert_allclose(found, twice, rtol=1e-8, atol=1e-10 * np.max(np.abs(twice)))


def test_the_multiplier_is_the_force_of_the_rod() -> None:
    """On a sphere at rest, at its lowest point, it carries the weight."""
    f = pullback.equations_of_motion(sphere(), [m, g, R])
    rest, multipliers = f.with_multipliers(0.0, [0.0, 0.0, -2.0, 0.0, 0.0, 0.0], [1.5, 9.81, 2.0])
    np.testing.assert_allclose(rest, 0.0, atol=1e-14)
    assert abs(multipliers[0] * 2 * 2.0) == pytest.approx(1.5 * 9.81)


def test_what_is_refused() -> None:
    x, y = symbols("x y")
    u = [x.diff(t), y.diff(t)]
    for system, says in [
        ((sp.eye(3), sp.zeros(3, 1), [x, y], u), "mass matrix is 3 x 3 for 2 speeds and 0 multipliers, expected 2 x 2"),
        ((sp.eye(2), sp.zeros(3, 1), [x, y], u), "forcing is 3 x 1 for 2 speeds and 0 multipliers, expected 2 x 1"),
        ((sp.eye(2), sp.zeros(2, 1), [x], u), "1 coordinates for 2 speeds"),
        ((sp.zeros(0, 0), sp.zeros(0, 1), [], []), "the system has no coordinates"),
    ]:
        with pytest.raises(ValueError, match=says):
            pullback.equations_of_motion(system)


def test_states_may_be_whole_numbers_and_speeds_need_not_follow_their_coordinates() -> None:
    a, b, u, v = symbols("a b u v")
    made = pullback.equations_of_motion((sp.eye(2), sp.Matrix([-g * sp.sin(a), -b * u]), [a, b], [u, v]), [g])
    want, slopes = made.with_jacobian(0.0, np.array([1.0, 2.0, 3.0, 4.0]), [9.81])
    for state in ([1, 2, 3, 4], (1.0, 2, 3, 4), np.array([1, 2, 3, 4])):
        got, jacobian = made.with_jacobian(0.0, state, [9.81])
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(jacobian, slopes)
        np.testing.assert_array_equal(made(0.0, state, [9.81]), want)
    assert slopes[:2].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(slopes[2:], [[-9.81 * np.cos(1.0), 0, 0, 0], [0, -3, -2, 0]], rtol=1e-15)


def test_symbols_of_shared_subexpressions_are_found_once() -> None:
    x, y, n = sp.symbols("x y n")
    f, shared = sp.Function("f"), x
    for _ in range(60):  # written out it has 2**60 symbols
        shared = f(shared, shared)
    assert occurring([shared, y], y)[0] == {x, y}
    bound = [sp.Integral(sp.exp(-x * y), (x, 0, n)), sp.Sum(n * x, (n, 0, 3)), f(t).diff(t), sp.Lambda(x, x + y)]
    for e in [*bound, sp.sin(bound[0]) + bound[3](n), sp.Subs(f(x).diff(x), x, 2 * y), sp.Integer(3)]:
        assert occurring([e], y)[0] == e.free_symbols


def test_the_same_system_is_the_same_code() -> None:
    """Text that depended on where values lie in memory would never be found on disk."""
    texts = set()
    for _ in range(4):
        system = models.n_link_pendulum_on_cart(2, cart_force=False, joint_torques=False)
        both = pullback.equations_of_motion(system).with_jacobian
        both(0.0, np.linspace(0.1, 0.5, 6), np.ones(6))
        texts.add(both.ir("llvm"))
    assert len(texts) == 1
