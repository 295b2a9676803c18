"""A cart with three pendulums on it: equations of motion derived by SymPy, compiled, differentiated and integrated.

SymPy's Kane method gives the mass matrix and the forcing as formulas; the compiled right-hand side solves the one for
the other, and its Jacobian comes in the same call. The energy, a formula too, tells how well the motion was followed.
"""

import numpy as np
from scipy.integrate import solve_ivp
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

from pullback import equations_of_motion, grad, jit

LINKS = 3
WIDTH, HEIGHT = 64, 22


def positions(state):
    """Where the cart and the bobs are, for links of length 1; angles are measured from straight up."""
    x = state[0] - np.concatenate([[0.0], np.cumsum(np.sin(state[1 : LINKS + 1]))])
    y = np.concatenate([[0.0], np.cumsum(np.cos(state[1 : LINKS + 1]))])
    return x, y


@jit
def energy(state, gravity):
    """Of the cart and bobs of mass 1; velocities are the derivative of the positions along the motion."""
    q, u = state[: LINKS + 1], state[LINKS + 1 :]
    speed_x = u[0] - np.concatenate([np.zeros(1), np.cumsum(np.cos(q[1:]) * u[1:])])
    speed_y = np.concatenate([np.zeros(1), np.cumsum(-np.sin(q[1:]) * u[1:])])
    height = np.sum(np.cumsum(np.cos(q[1:])))
    return 0.5 * np.sum(speed_x**2 + speed_y**2) + gravity * height


def picture(states):
    """The pendulum at some times, and the way of its tip."""
    canvas = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(x, y, mark):
        column, row = round(WIDTH / 2 + 9 * x), round(HEIGHT / 2 - 3.3 * y)
        if 0 <= column < WIDTH and 0 <= row < HEIGHT:
            canvas[row][column] = mark

    for state in states.T:
        x, y = positions(state)
        put(x[-1], y[-1], ".")
    for state, mark in ((states[:, 0], "o"), (states[:, -1], "@")):
        x, y = positions(state)
        for k in range(LINKS):
            for s in np.linspace(0, 1, 12):
                put(x[k] + s * (x[k + 1] - x[k]), y[k] + s * (y[k + 1] - y[k]), "o" if mark == "o" else "+")
            put(x[k + 1], y[k + 1], mark)
        put(x[0], y[0], "#")
    return "\n".join("".join(row).rstrip() for row in canvas)


def main() -> None:
    motion = equations_of_motion(n_link_pendulum_on_cart(LINKS, cart_force=False, joint_torques=False))
    print("parameters", *motion.parameters)
    parameters = np.array([9.81] + [1.0] * (len(motion.parameters) - 1))
    state = np.concatenate([[0.0, 0.6, 0.9, 1.2], np.zeros(LINKS + 1)])
    made = solve_ivp(
        motion, (0.0, 1.5), state, args=(parameters,), method="Radau", rtol=1e-9, atol=1e-9, max_step=0.02,
        jac=lambda t, y, p: motion.with_jacobian(t, y, p)[1],
    )  # fmt: skip
    print(picture(made.y))
    drift = energy(made.y[:, -1], 9.81) - energy(state, 9.81)
    print(f"{made.y.shape[1]} steps, energy {energy(state, 9.81):.6f}, changed by {abs(drift):.0e}")
    assert abs(drift) < 1e-5
    along = grad(energy)(state, 9.81) @ motion(0.0, state, parameters)
    print(f"dE/dt along the motion {abs(along):.0e}")
    assert abs(along) < 1e-10


if __name__ == "__main__":
    main()
