"""What the elementary functions are made of: polynomials, exact sums and products, selections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..text.registers import Reg
from ..text.writer import Writer

# Fraction bits and exponent bias of the two formats.
FRACTION = {"f64": 52, "f32": 23}
BIAS = {"f64": 1023, "f32": 127}
INFINITY = float("inf")
NAN = float("nan")


def polynomial(w: Writer, x: Reg, table: Mapping[str, Sequence[float]]) -> Reg:
    """c0 + c1 x + c2 x**2 + ... with the coefficients of a table."""
    return polynomial_of(w, x, [w.like(value, x) for value in table[x.dtype]])


def polynomial_of(w: Writer, x: Reg, terms: Sequence[Reg]) -> Reg:
    """c0 + c1 x + c2 x**2 + ...: Horner's scheme in x**2 on pairs of terms, and long ones in x**4 on fours,
    which makes the chain of dependent operations half as long for one multiplication more."""
    for least in (4, 5):
        if len(terms) >= least:
            pairs = range(0, len(terms) - 1, 2)
            rest = [terms[-1]] if len(terms) % 2 else []
            terms = [w.muladd(terms[i + 1], x, terms[i]) for i in pairs] + rest
            x = w.mul(x, x)
    result = terms[-1]
    for term in reversed(terms[:-1]):
        result = w.muladd(result, x, term)
    return result


def scaled(w: Writer, a: Reg, factor: float) -> Reg:
    """a times a constant."""
    return w.mul(a, w.like(factor, a))


def clamp_below(w: Writer, x: Reg, bound: float) -> Reg:
    """The greater of x and a constant; NaN stays NaN."""
    limit = w.like(bound, x)
    return w.select(w.lt(x, limit), limit, x)


def clamp_above(w: Writer, x: Reg, bound: float) -> Reg:
    """The smaller of x and a constant; NaN stays NaN."""
    limit = w.like(bound, x)
    return w.select(w.gt(x, limit), limit, x)


def product_error(w: Writer, a: Reg, b: Reg, product: Reg) -> Reg:
    """a*b - product, where `product` is a*b rounded. Exact, by the fused instruction or, without
    one, by Dekker's splitting (T. J. Dekker, A floating-point technique, 1971)."""
    if w.has_fma:
        return w.fma(a, b, w.neg(product))
    a1, a2 = _halves(w, a)
    b1, b2 = _halves(w, b)
    error = w.sub(w.mul(a1, b1), product)
    error = w.add(error, w.mul(a1, b2))
    error = w.add(error, w.mul(a2, b1))
    return w.add(error, w.mul(a2, b2))


def _halves(w: Writer, a: Reg) -> tuple[Reg, Reg]:
    """a as a sum of two numbers with half as many bits."""
    big = scaled(w, a, 2.0 ** ((FRACTION[a.dtype] + 2) // 2) + 1)
    high = w.sub(big, w.sub(big, a))
    return high, w.sub(a, high)


def remainder(w: Writer, c: Reg, a: Reg, b: Reg) -> Reg:
    """c - a*b for a*b close to c: one fused instruction, or the exact product without one."""
    if w.has_fma:
        return w.fma(w.neg(a), b, c)
    product, error = two_product(w, a, b)
    return w.sub(w.sub(c, product), error)


def two_product(w: Writer, a: Reg, b: Reg) -> tuple[Reg, Reg]:
    """a*b as rounded product and error."""
    product = w.mul(a, b)
    return product, product_error(w, a, b, product)


def two_sum(w: Writer, a: Reg, b: Reg) -> tuple[Reg, Reg]:
    """a + b as rounded sum and error, for any a and b (D. Knuth, TAOCP 2, 4.2.2)."""
    total = w.add(a, b)
    shown = w.sub(total, a)
    return total, w.add(w.sub(a, w.sub(total, shown)), w.sub(b, shown))


def ordered_sum(w: Writer, a: Reg, b: Reg) -> tuple[Reg, Reg]:
    """a + b as rounded sum and error, where |a| >= |b| or a is 0."""
    total = w.add(a, b)
    return total, w.sub(b, w.sub(total, a))
