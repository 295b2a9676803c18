"""The writer's instructions against NumPy, on all pairs of special operands."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from pullback.compiler.backend.text.registers import Reg
from pullback.compiler.backend.text.writer import Writer
from tests.native import DTYPES, Host, Mapped

WIDTHS = (1, 4, 8)
INTEGERS = ("i32", "i64")
FLOATS = ("f32", "f64")


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


def specials(dtype: str) -> np.ndarray:
    """Operands at which integer and float instructions go wrong."""
    kind = DTYPES[dtype]
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        small = [0, 1, 2, 3, 7, 8, 10, 31, 32, 63, 64, 1000]
        values = [*small, *(-v for v in small), info.min, info.min + 1, info.max, info.max - 1]
        return np.array(values, kind)
    info = np.finfo(kind)
    positive = [0.0, 0.5, 1, 1.5, 2, 2.5, 3, 7, 0.1, 1e9, 2.0**31, 2.0**31 - 0.5, 2.0**31 + 1]
    positive += [2.0**63, 2.0**62, 1e25, info.max, info.tiny, info.smallest_subnormal, np.inf]
    positive += [1 - info.epsneg, 1 + info.eps, 0.5 - info.epsneg / 2, 2.0 ** (info.nmant + 1) - 1]
    values = np.array([*positive, np.nan], kind)
    return np.concatenate([values, -values])


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    values = specials(dtype)
    return tuple(np.array(list(itertools.product(values, values)), values.dtype).T.copy())


def differences(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where two arrays differ in type, value or sign of zero; one NaN is as good as another."""
    assert got.dtype == want.dtype
    if got.dtype.kind != "f":
        return np.flatnonzero(got != want)
    same = (got == want) & (np.signbit(got) == np.signbit(want))
    return np.flatnonzero(~(same | (np.isnan(got) & np.isnan(want))))


def compare(host: Host, table: dict, args: tuple[np.ndarray, ...], dtype: str, width: int) -> None:
    """All instructions of a table in one function, each against NumPy."""
    probe = {"bool": bool, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
    names = {np.dtype(kind): name for name, kind in probe.items()}
    with np.errstate(all="ignore"):
        wanted = {name: np.asarray(meaning(*args)) for name, (_, meaning) in table.items()}
    mapped = Mapped(
        host,
        lambda w, *x: [make(w, *x) for make, _ in table.values()],
        [dtype] * len(args),
        [names[want.dtype] for want in wanted.values()],
        width,
    )
    results = mapped(*args)
    for (name, want), got in zip(wanted.items(), results, strict=True):
        wrong = differences(got, want)
        shown = [(*(a[i] for a in args), got[i], want[i]) for i in wrong[:5]]
        assert not len(wrong), f"{name} {dtype} width {width}: operands, got, NumPy: {shown}"


COMPARISONS = {
    "eq": (Writer.eq, np.equal),
    "ne": (Writer.ne, np.not_equal),
    "lt": (Writer.lt, np.less),
    "le": (Writer.le, np.less_equal),
    "gt": (Writer.gt, np.greater),
    "ge": (Writer.ge, np.greater_equal),
    "minimum": (Writer.minimum, np.minimum),
    "maximum": (Writer.maximum, np.maximum),
}
NUMERIC = {
    "sub": (Writer.sub, np.subtract),
    "floordiv": (Writer.floordiv, np.floor_divide),
    "mod": (Writer.mod, np.remainder),
}
BITWISE = {
    "and": (Writer.and_, np.bitwise_and),
    "or": (Writer.or_, np.bitwise_or),
    "xor": (Writer.xor, np.bitwise_xor),
}
ALL = {"add": (Writer.add, np.add), "mul": (Writer.mul, np.multiply), **COMPARISONS}
SHIFTS = {"shl": (Writer.shl, np.left_shift), "ashr": (Writer.ashr, np.right_shift)}
REAL = {"div": (Writer.div, np.divide), "copysign": (Writer.copysign, np.copysign)}
BINARY = {
    "bool": ALL | BITWISE,
    "i": ALL | NUMERIC | BITWISE | SHIFTS,
    "f": ALL
    | NUMERIC
    | {"div": (Writer.div, np.divide), "copysign": (Writer.copysign, np.copysign)},
}
UNARY = {
    "bool": {"not": (Writer.not_, np.logical_not), "abs": (Writer.abs, np.abs)},
    "i": {
        "neg": (Writer.neg, np.negative),
        "abs": (Writer.abs, np.abs),
        "sign": (Writer.sign, np.sign),
        "not": (Writer.not_, np.invert),
        "floor": (Writer.floor, np.floor),
    },
    "f": {
        "neg": (Writer.neg, np.negative),
        "abs": (Writer.abs, np.abs),
        "sign": (Writer.sign, np.sign),
        "floor": (Writer.floor, np.floor),
        "ceil": (Writer.ceil, np.ceil),
        "trunc": (Writer.trunc, np.trunc),
        "rint": (Writer.rint, np.rint),
        "sqrt": (Writer.sqrt, np.sqrt),
        "isnan": (Writer.isnan, np.isnan),
        "unbits of bits": (lambda w, x: w.unbits(w.bits(x)), np.positive),
        "neg of neg": (lambda w, x: w.neg(w.neg(x)), np.positive),
        "abs of neg": (lambda w, x: w.abs(w.neg(x)), np.abs),
    },
}


def kind_of(dtype: str) -> str:
    return dtype if dtype == "bool" else dtype[0]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_binary(host: Host, dtype: str, width: int) -> None:
    compare(host, BINARY[kind_of(dtype)], pairs(dtype), dtype, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary(host: Host, dtype: str, width: int) -> None:
    compare(host, UNARY[kind_of(dtype)], (specials(dtype),), dtype, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(host: Host, dtype: str, width: int) -> None:
    table = {
        f"to {to}": (lambda w, x, to=to: w.cast(x, to), lambda x, kind=kind: x.astype(kind))
        for to, kind in DTYPES.items()
    }
    compare(host, table, (specials(dtype),), dtype, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_and_shifts_by_literals(host: Host, dtype: str, width: int) -> None:
    """Literal operands take other ways through the writer."""
    kind, table = DTYPES[dtype], {}
    for b in (0, 1, -1, 2, 8, -8, 3, -3, 2**31 - 1, -(2**31)):
        for name, make, meaning in (
            ("//", Writer.floordiv, np.floor_divide),
            ("%", Writer.mod, np.remainder),
            ("<<", Writer.shl, np.left_shift),
            (">>", Writer.ashr, np.right_shift),
            ("+", Writer.add, np.add),
            ("*", Writer.mul, np.multiply),
            ("-", Writer.sub, np.subtract),
        ):
            table[f"{name} {b}"] = (
                lambda w, x, make=make, b=b: make(w, x, w.like(b, x)),
                lambda x, meaning=meaning, b=b: meaning(x, kind.type(b)),
            )
    compare(host, table, (specials(dtype),), dtype, width)


def test_logical_shift_right(host: Host) -> None:
    a, b = pairs("i64")
    with np.errstate(all="ignore"):
        want = np.right_shift(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    for width in WIDTHS:
        [got] = Mapped(host, Writer.lshr, ["i64", "i64"], ["i64"], width)(a, b)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("fused", [True, False])
def test_multiply_add(host: Host, fused: bool, rng: np.random.Generator) -> None:
    """fma rounds once on every machine, muladd once or twice."""
    a, b = rng.standard_normal((2, 1000))
    c = -(a * b)
    terms = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in terms]
    maps = Mapped(
        host if fused else Host(fma=False),
        lambda w, a, b, c: [w.fma(a, b, c), w.muladd(a, b, c)],
        ["f64"] * 3,
        ["f64"] * 2,
        8,
    )
    once, either = maps(a, b, c)
    assert np.abs(once).max() > 0
    np.testing.assert_array_equal(once, exact)
    assert np.all((either == once) | (either == 0.0))


@pytest.mark.parametrize("width", WIDTHS)
def test_literals(host: Host, width: int) -> None:
    cases = [("f64", v) for v in (0.0, -0.0, 0.1, np.inf, -np.inf, np.nan, 5e-324, 1.7e308)]
    cases += [("f32", v) for v in (0.1, -0.0, np.inf, np.nan, 1e-45, 1e300, 3.4028235e38)]
    cases += [("i64", v) for v in (0, -(2**63), 2**63 - 1)] + [("i32", v) for v in (-(2**31), 7)]
    cases += [("bool", True), ("bool", False)]
    for dtype, value in cases:
        mapped = Mapped(host, lambda w, x, v=value: w.like(v, x), [dtype], [dtype], width)
        [got] = mapped(np.zeros(3, DTYPES[dtype]))
        with np.errstate(over="ignore"):
            want = np.full(3, value).astype(DTYPES[dtype])
        assert not len(differences(got, want)), (dtype, value, got)
        shown = Writer().number(value, dtype, width).number
        assert not len(differences(np.array([shown]).astype(DTYPES[dtype]), want[:1]))


@pytest.mark.parametrize("width", (2, 4, 8))
def test_lanes(host: Host, width: int) -> None:
    """splat, extract, insert and shuffle."""

    def make(w: Writer, x: Reg) -> list[Reg]:
        last = w.extract(x, width - 1)
        ends = w.shuffle(x, w.neg(x), [0, 2 * width - 1])
        return [
            w.splat(last, width),
            w.insert(x, w.number(7.0, "f64"), 1),
            w.shuffle(x, w.neg(x), [2 * width - 1 - i for i in range(width)]),
            w.splat(w.add(w.extract(ends, 0), w.extract(ends, 1)), width),
        ]

    x = np.arange(1.0, 2 * width + 1)
    rows = x.reshape(2, width)
    splat, inserted, reversed_, ends = Mapped(host, make, ["f64"], ["f64"] * 4, width)(x)
    np.testing.assert_array_equal(splat.reshape(2, width), rows[:, -1:] * np.ones(width))
    np.testing.assert_array_equal(inserted.reshape(2, width)[:, 1], 7.0)
    np.testing.assert_array_equal(inserted.reshape(2, width)[:, 0], rows[:, 0])
    np.testing.assert_array_equal(reversed_.reshape(2, width), -rows[:, ::-1])
    np.testing.assert_array_equal(
        ends.reshape(2, width), (rows[:, :1] - rows[:, -1:]) * np.ones(width)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_any_and_all(host: Host, width: int) -> None:
    def make(w: Writer, c: Reg) -> list[Reg]:
        return [w.splat(w.any(c), width), w.splat(w.all(c), width)]

    rows = np.array(list(itertools.product([False, True], repeat=width)))
    some, every = Mapped(host, make, ["bool"], ["bool"] * 2, width)(rows.ravel())
    np.testing.assert_array_equal(some.reshape(-1, width)[:, 0], rows.any(1))
    np.testing.assert_array_equal(every.reshape(-1, width)[:, 0], rows.all(1))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_memory(host: Host, dtype: str, width: int) -> None:
    """Excluded lanes read as zero and are not written; their addresses need not exist."""

    def make(w: Writer, x: Reg, index: Reg, mask: Reg) -> list[Reg]:
        loaded = w.load("null", dtype, width, w.like(False, mask))
        w.store("null", x, w.like(False, mask))
        w.store("null", x, w.and_(mask, w.not_(mask)))
        # `index` is -1 everywhere else than at excluded lanes, where it leads far outside.
        gathered = w.gather(w.gep("%in0", dtype, 1), index, mask, dtype)
        everywhere = w.gather(
            "%in0", w.select(mask, w.like(0, index), w.like(1, index)), dtype=dtype
        )
        return [loaded, gathered, everywhere]

    x = np.array([1, 0, 1, 1, 0, 0, 1, 0], DTYPES[dtype])
    mask = np.array([1, 1, 0, 1, 0, 0, 1, 0], bool)
    index = np.where(mask, -1, 2**40)
    names = [dtype, "i64", "bool"]
    loaded, gathered, everywhere = Mapped(host, make, names, [dtype] * 3, width)(x, index, mask)
    np.testing.assert_array_equal(loaded, np.zeros_like(x))
    np.testing.assert_array_equal(gathered, np.where(mask, x[0], 0).astype(x.dtype))
    np.testing.assert_array_equal(everywhere, np.where(mask, x[0], x[1]))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_store_and_load_between(host: Host, dtype: str, width: int) -> None:
    def make(w: Writer, x: Reg, mask: Reg) -> list[Reg]:
        slot = w.fresh("i64").text
        w.lines.append(f"  {slot} = alloca [{8 * width} x i8], align 8")
        w.store(slot, w.like(1, x))
        w.store(slot, x, mask)
        return [w.load(slot, dtype, width), w.load(slot, dtype, width, mask)]

    x = np.array([5, 0, 3, 1, 0, 0, 1, 9], DTYPES[dtype])
    mask = np.array([1, 1, 0, 1, 0, 0, 1, 0], bool)
    plain, masked = Mapped(host, make, [dtype, "bool"], [dtype] * 2, width)(x, mask)
    np.testing.assert_array_equal(plain, np.where(mask, x, 1).astype(x.dtype))
    np.testing.assert_array_equal(masked, np.where(mask, x, 0).astype(x.dtype))


def test_bytes_other_than_one_are_true(host: Host) -> None:
    x = np.array([0, 1, 2, 255, 128, 0, 64, 3], np.uint8).view(bool)
    for width in WIDTHS:
        [got] = Mapped(host, lambda w, c: c, ["bool"], ["bool"], width)(x)
        np.testing.assert_array_equal(got.view(np.uint8), (x.view(np.uint8) != 0).astype(np.uint8))


def test_equal_instructions_are_written_once() -> None:
    w = Writer()
    x, y = Reg("f64", 8, "%x"), Reg("f64", 8, "%y")
    assert w.add(x, y) == w.add(x, y)
    assert w.gep("%p", "f64", 3) == w.gep("%p", "f64", w.number(3, "i64"))
    assert w.abs(w.neg(x)) == w.abs(x)
    lines = len(w.lines)
    with w.scope():
        inner = w.mul(x, y)
        assert w.mul(x, y) == inner
        assert w.add(x, y) == w.add(x, y)
        assert len(w.lines) == lines + 1
    assert w.mul(x, y) != inner
    assert w.load("%p", "f64", 8) != w.load("%p", "f64", 8)


def test_what_does_not_fit_is_refused() -> None:
    w = Writer()
    x, k, c = Reg("f64", 8, "%x"), Reg("i64", 8, "%k"), Reg("bool", 8, "%c")
    with pytest.raises(TypeError, match=r"add: operands are <8 x double> and double"):
        w.add(x, Reg("f64", 1, "%y"))
    with pytest.raises(TypeError, match=r"mul: operands are <8 x double> and <8 x float>"):
        w.mul(x, Reg("f32", 8, "%y"))
    with pytest.raises(TypeError, match=r"div: operand is <8 x i64>"):
        w.div(k, k)
    with pytest.raises(TypeError, match=r"sub: operand is bool"):
        w.sub(c, c)
    with pytest.raises(TypeError, match=r"and: operand is <8 x double>"):
        w.and_(x, x)
    with pytest.raises(TypeError, match=r"shuffle: operand is double"):
        w.shuffle(Reg("f64", 1, "%y"), Reg("f64", 1, "%y"), [0])
    assert w.lines == []
