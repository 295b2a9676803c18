"""Expressions in forms that keep their digits in floats: 1 - cos(x) as 2 sin(x/2)^2, log(1 + x) as log1p(x).

    made, rewrites = stabilized(log(1 + exp(x)))      logaddexp(0, x), [(log(1 + exp(x)), logaddexp(0, x))]

Each rule is an identity of real analysis (Higham, Accuracy and Stability of Numerical Algorithms, chapter 1; Goldberg
1991), so what changes are rounding errors, and what overflows on the way. What still cancels near 0 is its power series
there (`near`), which is the same function once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shared.library import codegen_module, sympy_module
from ..shared.parts import parts_of
from .differences import difference
from .nearby import near


def stabilized(e: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """The expression in stable forms, and what was replaced by what, from the inside out."""
    sympy = sympy_module()

    ruled: dict[Any, Any] = {}
    made: dict[Any, Any] = {}
    rewrites: list[tuple[Any, Any]] = []
    for each in parts_of(e):
        ruled[each] = _rewritten(_rebuilt(each, ruled), rewrites)
    stack = [(e, False)]  # from the outside in, so that what is a series has no series in it
    while stack:
        each, ready = stack.pop()
        if each in made:
            continue
        if ready:
            same = all(made[a] is ruled[a] for a in each.args)
            made[each] = ruled[each] if same else _rewritten(_rebuilt(each, made), [])
        elif (found := near(each, ruled[each])) is not None:
            made[each] = sympy.Piecewise((found.value, found.condition), (ruled[each], True))
            rewrites.append((each, made[each]))
        else:
            stack.append((each, True))
            stack.extend((a, False) for a in each.args if a not in made)
    return made[e], rewrites


def _rebuilt(e: Any, made: dict[Any, Any]) -> Any:
    args = [made[a] for a in e.args]
    return e if all(a is b for a, b in zip(args, e.args, strict=True)) else e.func(*args)


def _rewritten(e: Any, rewrites: list[tuple[Any, Any]]) -> Any:
    for rule in _rules().get(type(e).__name__, ()):
        found = rule(e)
        if found is not None and found != e:
            rewrites.append((e, found))
            return found
    return e


def _rules() -> dict[str, tuple[Callable[[Any], Any], ...]]:
    return {
        "log": (_log_sum_exp, _log1p, _log_cosh, _log_gamma),
        "Add": (_expm1, _powm1, _one_minus_cos, _complement, _difference_of_roots, _difference_of_squares, difference),
        "Pow": (_hypot, _sigmoid),
        "acos": (_acos,),
        "Mul": (_sinc, _softmax),
    }


def _terms(e: Any) -> list[tuple[Any, Any]]:
    """The summands as coefficients and the rest."""
    return [a.as_coeff_Mul() for a in e.args]


# ---- logarithms


def _log_sum_exp(e: Any) -> Any:
    """log(a exp(x) + b exp(y) + c), for positive a, b, c."""
    sympy = sympy_module()

    (inner,) = e.args
    if not inner.is_Add:
        return None
    exponents = []
    for c, rest in _terms(inner):
        if not c.is_positive or not (rest == 1 or isinstance(rest, sympy.exp)):
            return None
        shift = sympy.log(c) if c != 1 else sympy.Integer(0)
        exponents.append(shift + (rest.exp if rest != 1 else 0))
    if all(x.is_number for x in exponents):
        return None
    made = exponents[0]
    for x in exponents[1:]:
        made = codegen_module().numpy_nodes.logaddexp(made, x)
    return made


def _log1p(e: Any) -> Any:
    (inner,) = e.args
    if not inner.is_Add or 1 not in inner.args:
        return None
    return codegen_module().cfunctions.log1p(inner - 1)


def _log_cosh(e: Any) -> Any:
    """log(1 + 2 sinh(x/2)^2), and where that may overflow |x| + log(1 + exp(-2 |x|)) - log 2."""
    sympy = sympy_module()

    (inner,) = e.args
    if not isinstance(inner, sympy.cosh):
        return None
    x = inner.args[0]
    log1p, size = codegen_module().cfunctions.log1p, sympy.Abs(x)
    near = log1p(2 * sympy.sinh(x / 2) ** 2)
    return sympy.Piecewise((near, size < 1), (size + log1p(sympy.exp(-2 * size)) - sympy.log(2), True))


def _log_gamma(e: Any) -> Any:
    sympy = sympy_module()

    (inner,) = e.args
    if isinstance(inner, sympy.gamma):
        return sympy.loggamma(inner.args[0])
    return sympy.loggamma(inner.args[0] + 1) if isinstance(inner, sympy.factorial) else None


# ---- sums that cancel


def _pair(e: Any, kind: type) -> tuple[Any, Any, Any] | None:
    """c f(x) - c + rest: c, x and the rest."""
    sympy = sympy_module()

    terms = _terms(e)
    constant = next((c for c, rest in terms if rest == 1), sympy.Integer(0))
    for c, rest in terms:
        if isinstance(rest, kind) and constant and (constant + c) == 0:
            return c, rest.args[0], e - c * rest - constant
    return None


def _expm1(e: Any) -> Any:
    sympy = sympy_module()

    found = _pair(e, sympy.exp)
    return None if found is None else found[0] * codegen_module().cfunctions.expm1(found[1]) + found[2]


def _powm1(e: Any) -> Any:
    """b^x - 1 = expm1(x log b), for b > 0."""
    sympy = sympy_module()

    found = _pair(e, sympy.Pow)
    if found is None or not found[1].is_positive:
        return None
    power = next(a for a in (rest for _, rest in _terms(e)) if a.is_Pow and a.base == found[1])
    if power.exp.is_number:
        return None
    return found[0] * codegen_module().cfunctions.expm1(power.exp * sympy.log(found[1])) + found[2]


def _one_minus_cos(e: Any) -> Any:
    """1 - cos x = 2 sin(x/2)^2, and cosh x - 1 = 2 sinh(x/2)^2."""
    sympy = sympy_module()

    found = _pair(e, sympy.cos)
    if found is not None:
        return -2 * found[0] * sympy.sin(found[1] / 2) ** 2 + found[2]
    found = _pair(e, sympy.cosh)
    return None if found is None else 2 * found[0] * sympy.sinh(found[1] / 2) ** 2 + found[2]


def _complement(e: Any) -> Any:
    """1 - erf x = erfc x, and the other way round; 1 - tanh x = 2 / (1 + exp(2 x)); 1 - tanh(x)^2, 1 - cos(x)^2."""
    sympy = sympy_module()

    for kind, other in ((sympy.erf, sympy.erfc), (sympy.erfc, sympy.erf)):
        found = _pair(e, kind)
        if found is not None:
            return -found[0] * other(found[1]) + found[2]
    found = _pair(e, sympy.tanh)
    if found is not None:
        return -2 * found[0] * _sigmoid_of(2 * found[1]) + found[2]
    terms = _terms(e)
    both = [(c, t.args[0]) for c, t in terms if isinstance(t, sympy.tanh) and (c, 1) in terms]
    if both:
        ((c, x), *_) = both
        return 2 * c * _sigmoid_of(-2 * x) + e - c * sympy.tanh(x) - c
    found = _pair(e, sympy.Pow)
    squares = {sympy.tanh: lambda x: sympy.cosh(x) ** -2, sympy.cos: lambda x: sympy.sin(x) ** 2,
               sympy.sin: lambda x: sympy.cos(x) ** 2}  # fmt: skip
    square = squares.get(type(found[1])) if found is not None else None
    if found is not None and square is not None and any(rest == found[1] ** 2 for _, rest in _terms(e)):
        return -found[0] * square(found[1].args[0]) + found[2]
    return None


def _sigmoid_of(x: Any) -> Any:
    """1 / (1 + exp(x))"""
    return sympy_module().exp(-codegen_module().numpy_nodes.logaddexp(0, x))


def _difference_of_roots(e: Any) -> Any:
    """sqrt(u) - v = (u - v^2) / (sqrt(u) + v), where u - v^2 is simpler than u; where v > 0."""
    sympy = sympy_module()

    if len(e.args) != 2:
        return None
    (c, root), (d, other) = sorted(_terms(e), key=lambda t: _radicand(t[1]) is None)
    base = _radicand(root)
    if base is None:
        return None
    v = -d * other / c
    rest = sympy.expand(base - v**2)
    if v.is_nonpositive or rest.count_ops() >= base.count_ops() or _radicand(-v) is not None:
        return None
    made = c * rest / (root + v)
    return made if v.is_nonnegative or _radicand(v) is not None else sympy.Piecewise((made, v > 0), (e, True))


def _radicand(e: Any) -> Any:
    """u of sqrt(u)."""
    sympy = sympy_module()

    if isinstance(e, codegen_module().cfunctions.hypot):
        return e.args[0] ** 2 + e.args[1] ** 2
    return e.base if e.is_Pow and e.exp == sympy.Rational(1, 2) else None


def _difference_of_squares(e: Any) -> Any:
    """a^2 - b^2 = (a - b)(a + b)."""
    if len(e.args) != 2:
        return None
    (c, x), (d, y) = _terms(e)
    if c + d != 0 or not all(f.is_Pow and f.exp == 2 for f in (x, y)):
        return None
    return c * (x.base - y.base) * (x.base + y.base)


# ---- powers and quotients


def _acos(e: Any) -> Any:
    """acos(1 - x) = 2 asin(sqrt(x / 2))"""
    sympy = sympy_module()

    (inner,) = e.args
    return 2 * sympy.asin(sympy.sqrt((1 - inner) / 2)) if inner.is_Add and 1 in inner.args else None


def _hypot(e: Any) -> Any:
    """sqrt(a^2 + b^2), which overflows only where its value does."""
    sympy = sympy_module()

    base, exponent = e.args
    if exponent not in (sympy.Rational(1, 2), sympy.Rational(-1, 2)) or not base.is_Add or len(base.args) != 2:
        return None
    parts = []
    for term in base.args:
        c, rest = term.as_coeff_Mul()
        root = sympy.sqrt(c)
        if not c.is_positive or not (rest == 1 or (rest.is_Pow and rest.exp == 2)):
            return None
        parts.append(root * (rest.base if rest != 1 else 1))
    return codegen_module().cfunctions.hypot(*parts) ** (2 * exponent)


def _sigmoid(e: Any) -> Any:
    """1 / (1 + exp(x)) = exp(-log(1 + exp(x)))."""
    sympy = sympy_module()

    base, exponent = e.args
    if not exponent.is_negative or not exponent.is_number or not base.is_Add:
        return None
    made = _log_sum_exp(sympy.log(base, evaluate=False))
    return None if made is None else sympy.exp(exponent * made)


def _softmax(e: Any) -> Any:
    """exp(x) exp(-y) of quotients as one exponential."""
    sympy = sympy_module()

    powers = [a for a in e.args if isinstance(a, sympy.exp)]
    if len(powers) < 2 or not any(p.has(codegen_module().numpy_nodes.logaddexp) for p in powers):
        return None
    rest = [a for a in e.args if not isinstance(a, sympy.exp)]
    return sympy.Mul(*rest) * sympy.exp(sympy.Add(*[p.exp for p in powers]))


def _sinc(e: Any) -> Any:
    """sin(c x)^n / x^k, for k >= n: no 0/0 where x is 0."""
    sympy = sympy_module()

    for a in e.args:
        wave, n = a.as_base_exp()
        if not isinstance(wave, sympy.sin) or not (n.is_Integer and n > 0):
            continue
        for b in e.args:
            x, k = b.as_base_exp()
            ratio = wave.args[0] / x
            if k.is_Integer and -k >= n and ratio.is_number and ratio != 0:
                return e / a / b * (ratio * sympy.sinc(wave.args[0])) ** n * x ** (k + n)
    return None


__all__ = ["stabilized"]
