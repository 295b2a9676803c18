"""A gradient read back as mathematics: what the compiler made of a function, as formulas that one can check.

The function is ordinary NumPy: a pharmacokinetic curve and its squared distance from measurements. Its value, gradient
and the equation of its best dose are read out, and compiled again from the formulas: the numbers agree.
"""

import numpy as np
import sympy as sp

from pullback import grad, jit, lambdify

HOURS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
MEASURED = np.array([1.9, 2.6, 2.8, 2.0, 0.8])


def level(dose, into, out):
    """The concentration at the hours of the measurements, of a drug that is taken in and eliminated at these rates."""
    return dose * into / (into - out) * (np.exp(-out * HOURS) - np.exp(-into * HOURS))


def distance(dose, into, out):
    return np.sum((level(dose, into, out) - MEASURED) ** 2)


def main() -> None:
    slope = grad(distance)
    print(jit(level).sympy(1.0, 1.0, 0.5)[0])
    formula = slope.sympy()
    dose, into, out = (sp.Symbol(name, real=True) for name in ("dose", "into", "out"))
    at = (4.0, 1.4, 0.25)
    again = lambdify([dose, into, out], formula)(*at)
    print(f"gradient by dose: {slope(*at):.12f} compiled, {again:.12f} from its formula")
    assert abs(again - slope(*at)) < 1e-12 * abs(again)
    best = sp.solve(formula.subs({into: at[1], out: at[2]}), dose)[0]
    print(f"best dose for these rates: {best:.6f}")
    assert abs(slope(float(best), at[1], at[2])) < 1e-9
    print(grad(lambda x: np.log(1 + x**2) * np.sin(x)).latex())


if __name__ == "__main__":
    main()
