"""sin, cos and tan by the method of FreeBSD's msun: x = k pi/2 + r, and the kernels on |r| <= pi/4.

pi/2 is the sum of three numbers of 53 bits, which covers the least distance of a f64 from a
multiple of pi/2. Arguments beyond `FAR` are left to the C library, in a block that ordinary
arguments never enter; each lane's result depends on that lane only.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import processor
from ..text.registers import BITS, Reg, llvm_type
from ..text.writer import Writer
from . import coefficients
from .parts import ordered_sum, polynomial, polynomial_of, remainder, two_product

TWO_OVER_PI = 0.6366197723675814

# pi/2 as the sum of its first, next and again next 53 bits.
HALF_PI = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
    float.fromhex("-0x1.f1976b7ed8fbcp-110"),
)

# For f32, reduced in f64: 33 bits, whose product with k is exact, and the next 53.
HALF_PI_SHORT = float.fromhex("0x1.921fb54400000p+0")
HALF_PI_REST = float.fromhex("0x1.0b4611a626331p-34")

FAR = {"f64": 2.0**30, "f32": 2.0**20}
LIBRARY = {
    "f64": {"sin": "sin", "cos": "cos", "tan": "tan"},
    "f32": {"sin": "sinf", "cos": "cosf"},
}


class Reduced(NamedTuple):
    """x - k pi/2 as high + low, and an integer that is k modulo 4."""

    high: Reg
    low: Reg | None
    quadrant: Reg


def reduced(w: Writer, x: Reg) -> Reduced:
    """The distance of x from the nearest multiple of pi/2."""
    wide = w.cast(x, "f64")
    magic = w.like(1.5 * 2.0**52, wide)
    moved = w.muladd(wide, w.like(TWO_OVER_PI, wide), magic)
    k, quadrant = w.sub(moved, magic), w.bits(moved)
    if x.dtype == "f32":
        r = w.muladd(k, w.like(-HALF_PI_SHORT, wide), wide)
        r = w.muladd(k, w.like(-HALF_PI_REST, wide), r)
        return Reduced(w.cast(r, "f32"), None, w.cast(quadrant, "i32"))
    return Reduced(*_accurate(w, wide, k), quadrant)


def _accurate(w: Writer, x: Reg, k: Reg) -> tuple[Reg, Reg]:
    """x - k pi/2 to twice the digits. The first difference is exact, because it is small and a
    multiple of the last place of its terms."""
    near = remainder(w, x, k, w.like(HALF_PI[0], x))
    second, third = (w.like(-part, x) for part in HALF_PI[1:])
    product, error = two_product(w, k, second)
    high = w.add(near, product)
    # Exact as if |near| were the greater: it is a multiple of 2**-53, and of a product below 2**-23 the last place is
    # at most 2**-76 (Boldo, Graillat and Muller, ACM TOMS 44, 2017: a multiple of the other's last place suffices).
    lost = w.sub(product, w.sub(high, near))
    return high, w.add(lost, w.muladd(k, third, error))


def _sin_kernel(w: Writer, r: Reduced) -> tuple[Reg, Reg]:
    """sin(high + low), |high| <= pi/4, as high and the rest."""
    x, z = r.high, w.mul(r.high, r.high)
    factor, curve = w.mul(z, x), polynomial(w, z, coefficients.SIN)
    if r.low is None:
        return x, w.mul(factor, curve)
    slope, _ = _cosine_begun(w, z)
    return x, w.muladd(factor, curve, w.mul(slope, r.low))


def _cos_kernel(w: Writer, r: Reduced) -> tuple[Reg, Reg]:
    """cos(high + low), |high| <= pi/4, as 1 - z/2 and the rest, with what that loses."""
    z = w.mul(r.high, r.high)
    near, rest = _cosine_begun(w, z)
    if r.low is not None:
        rest = w.muladd(w.neg(r.high), r.low, rest)
    return near, w.muladd(w.mul(z, z), polynomial(w, z, coefficients.COS), rest)


def _cosine_begun(w: Writer, z: Reg) -> tuple[Reg, Reg]:
    """1 - z/2, which is also the slope of sine, and what it loses."""
    one, minus_half = w.like(1.0, z), w.like(-0.5, z)
    near = w.muladd(z, minus_half, one)
    return near, w.muladd(z, minus_half, w.sub(one, near))


def _either_kernel(w: Writer, r: Reduced, odd: Reg) -> Reg:
    """The sine, or the cosine where `odd`: the same bits as by both kernels, in two thirds of their multiplications.

    What differs between the two is chosen first, coefficient by coefficient.
    """
    x, z = r.high, w.mul(r.high, r.high)
    near, lost = _cosine_begun(w, z)
    rest = w.select(odd, lost, w.like(0.0, z))
    if r.low is not None:
        rest = w.muladd(w.select(odd, w.neg(x), near), r.low, rest)
    pairs = zip(coefficients.COS[x.dtype], coefficients.SIN[x.dtype], strict=True)
    terms = [w.select(odd, w.like(c, z), w.like(s, z)) for c, s in pairs]
    factor = w.mul(z, w.select(odd, z, x))
    return w.add(w.select(odd, near, x), w.muladd(factor, polynomial_of(w, z, terms), rest))


def sin(w: Writer, x: Reg, paired: bool = False) -> Reg:
    """Sine; `paired` where the cosine of the same number is asked for as well."""
    return w.once(f"sin {x.typed}", lambda: _circular(w, x, "sin", paired))


def cos(w: Writer, x: Reg, paired: bool = False) -> Reg:
    """Cosine; `paired` where the sine of the same number is asked for as well."""
    return w.once(f"cos {x.typed}", lambda: _circular(w, x, "cos", paired))


def _circular(w: Writer, x: Reg, name: str, paired: bool) -> Reg:
    """The kernel and sign that the quadrant asks for, of |x|; cosine is sine one quadrant on."""
    r = reduced(w, w.abs(x))
    one = w.like(1, r.quadrant)
    quadrant = r.quadrant if name == "sin" else w.add(r.quadrant, one)
    odd = w.ne(w.and_(quadrant, one), w.like(0, one))
    turned = w.shl(quadrant, w.like(BITS[x.dtype] - 2, one))
    if name == "sin":
        turned = w.xor(turned, w.bits(x))  # also of a zero
    if paired or x.width == 1 or not processor.has_masks():
        chosen = w.select(odd, w.add(*_cos_kernel(w, r)), w.add(*_sin_kernel(w, r)))
    else:
        chosen = _either_kernel(w, r, odd)
    sign = w.and_(turned, w.like(-(2 ** (BITS[x.dtype] - 1)), one))  # with xor one instruction
    return _with_far(w, x, w.unbits(w.xor(w.bits(chosen), sign)), name)


def tan(w: Writer, x: Reg) -> Reg:
    """Tangent of f64: the quotient of the kernels, or minus its reciprocal."""
    return w.once(f"tan {x.typed}", lambda: _tangent(w, x))


def _tangent(w: Writer, x: Reg) -> Reg:
    r = reduced(w, x)
    sine, cosine = ordered_sum(w, *_sin_kernel(w, r)), ordered_sum(w, *_cos_kernel(w, r))
    one = w.like(1, r.quadrant)
    odd = w.ne(w.and_(r.quadrant, one), w.like(0, one))
    top, top_low = (w.select(odd, w.neg(c), s) for c, s in zip(cosine, sine, strict=True))
    below, below_low = (w.select(odd, s, c) for c, s in zip(cosine, sine, strict=True))
    quotient = w.div(top, below)
    lows = w.muladd(w.neg(quotient), below_low, top_low)
    rest = w.add(remainder(w, top, quotient, below), lows)
    near = w.add(quotient, w.div(rest, below))
    near = w.select(w.eq(x, w.like(0.0, x)), x, near)
    return _with_far(w, x, near, "tan")


def _with_far(w: Writer, x: Reg, near: Reg, name: str) -> Reg:
    """`near`, but where |x| is beyond FAR what the C library says."""
    far = w.ge(w.abs(x), w.like(FAR[x.dtype], x))
    slow, done, before = w.label("far"), w.label("near"), w.block
    w.cbr(w.any(far), slow, done)
    w.start(slow)
    function = LIBRARY[x.dtype][name]
    scalar = llvm_type(x.dtype)
    declaration = f"declare {scalar} @{function}({scalar})"
    if x.width == 1:
        result = w.call(function, scalar, [(scalar, x.text)], declaration)
    else:
        w.declarations[function] = declaration
        helper = f"{function}.far.{x.suffix}"
        w.declarations[helper] = _far_lanes(helper, function, x)
        result = w.call(helper, x.type, [(x.type, x.text), (x.type, near.text)])
    w.br(done)
    w.start(done)
    return w.phi(x.dtype, x.width, [(near, before), (Reg(x.dtype, x.width, result), slow)])


def _far_lanes(helper: str, function: str, x: Reg) -> str:
    """A function of vectors x and near that asks the library for one far lane after the other."""
    w = Writer()
    x, result = Reg(x.dtype, x.width, "%x"), Reg(x.dtype, x.width, "%near")
    scalar = llvm_type(x.dtype)
    far = w.ge(w.abs(x), w.like(FAR[x.dtype], x))
    kept = w.select(far, x, w.like(0.0, x))
    called = result
    for lane in range(x.width):
        value = w.call(function, scalar, [(scalar, w.extract(kept, lane).text)])
        called = w.insert(called, Reg(x.dtype, 1, value), lane)
    result = w.select(far, called, result)
    head = f"define internal {x.type} @{helper}({x.type} %x, {x.type} %near) noinline cold {{"
    return "\n".join([head, *w.lines, f"  ret {result.typed}", "}"])
