"""Black and Scholes' formula as a formula: compiled, with all its Greeks, which are printed as LaTeX and checked.

The price of a call is written in SymPy once. Its first and second derivatives are compiled by reverse mode, read back
as mathematics, and compared with those that SymPy derives.
"""

import numpy as np
import sympy as sp

from pullback import grad, hessian, lambdify

S, K, r, sigma, T = SYMBOLS = sp.symbols("S K r sigma T", positive=True)


def normal(x):
    return (1 + sp.erf(x / sp.sqrt(2))) / 2


d1 = (sp.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * sp.sqrt(T))
CALL = S * normal(d1) - K * sp.exp(-r * T) * normal(d1 - sigma * sp.sqrt(T))
POINT = (100.0, 105.0, 0.03, 0.2, 0.75)
GREEKS = {"delta": (S,), "vega": (sigma,), "rho": (r,), "theta": (T,), "gamma": (S, S), "vanna": (S, sigma)}
GREEKS |= {"volga": (sigma, sigma), "charm": (S, T)}


def compiled(price, by):
    """The derivative by these symbols, one after the other."""
    for symbol in by:
        price = grad(price, argnums=SYMBOLS.index(symbol))
    return price


def main() -> None:
    price = lambdify(SYMBOLS, CALL)
    print(f"price  {price(*POINT):12.8f}")
    at = dict(zip(SYMBOLS, map(sp.Rational, POINT), strict=True))
    for name, by in GREEKS.items():
        greek = compiled(price, by)
        value, exact = greek(*POINT), sp.diff(CALL, *by).subs(at).evalf(25)
        print(f"{name:6} {value:12.8f}\n{greek.latex()}")
        assert abs(value - exact) < 1e-13 * max(1, abs(exact))
        assert abs(greek.sympy().subs(at).evalf(25) - exact) < 1e-13
    spots = np.linspace(50.0, 150.0, 100_001)
    deltas = grad(lambda s: np.sum(price(s, *POINT[1:])))
    gammas = grad(lambda s: np.sum(deltas(s)))(spots)
    print(f"largest gamma {gammas.max():.6f} at a spot of {spots[gammas.argmax()]:.3f}")
    rows = np.array(hessian(price, argnums=(0, 3))(*POINT))
    print("Hessian in spot and volatility", rows.round(6).tolist())


if __name__ == "__main__":
    main()
