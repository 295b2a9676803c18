"""What volatility a market price implies, by Newton's method, and how that answer moves with its inputs.

The loop ends when it has converged, after as many steps as that takes. The derivative goes back through the steps that
were made: no bound has to be given.
"""

import math

from pullback import value_and_grad


def normal(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def implied_volatility(price, spot, strike, years, rate):
    """The volatility at which Black and Scholes' formula gives the price of a call."""
    volatility = 0.2
    while True:
        spread = volatility * math.sqrt(years)
        d1 = (math.log(spot / strike) + rate * years) / spread + 0.5 * spread
        call = spot * normal(d1) - strike * math.exp(-rate * years) * normal(d1 - spread)
        vega = spot * math.sqrt(years) * math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
        step = (call - price) / vega
        volatility -= step
        if abs(step) < 1e-12:
            return volatility


def main() -> None:
    slope = value_and_grad(implied_volatility, argnums=(0, 1, 2, 3, 4))
    print("price   volatility   d/dprice    d/dspot  d/dstrike   d/dyears    d/drate")
    for price in (6.0, 9.0, 12.0, 20.0):
        volatility, slopes = slope(price, 100.0, 105.0, 1.0, 0.03)
        print(f"{price:5.1f} {volatility:12.6f}", *(f"{s:10.6f}" for s in slopes))


if __name__ == "__main__":
    main()
