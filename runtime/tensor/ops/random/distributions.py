"""Draws from distributions: functions of parameters, and functions that write into a tensor.

A draw has no derivative with respect to its parameters; as in PyTorch its gradient is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.elementwise import cast
from ...calls.asking import check_values
from ...calls.calls import recorded
from ...face.inplace import start_writing
from ...trace.fragments import Operation, widen
from ...value.core import Core, apply, number_of, requires, wrap
from ...value.dtypes import ALL
from ...value.promotion import common_shape
from ...value.writing import check_apart, check_writable, overwrite
from ..arranging.creation import tensor
from ..arranging.shapes import expand, shape_of
from ..matrices.outside import outside
from .draws import (
    NORMAL,
    UNIFORM,
    Generator,
    bits_of,
    check_float,
    digits_of,
    finish,
    generator_of,
    integers,
    limits,
    open_unit,
    randn,
    unit,
)

if TYPE_CHECKING:
    from ...face.tensor import Tensor

Formula = Callable[..., Any]


def _replaced(m: Any, x: Any, drawn: Any) -> Any:
    dtype = x.value.type.dtype
    return drawn if drawn.value.type.dtype == dtype else m(cast(m.b, drawn.value, dtype=dtype))


def _writes(name: str, node: str) -> Operation:
    """What stands in the gradient graph for a draw: its first argument gets a gradient of zero."""
    return Operation(name, node, _replaced, "own")


@recorded
def _write(input: Any, drawn: Core, operation: Operation) -> Any:
    """Write numbers that have been drawn: that is an event of the trace, to draw them is none."""
    start_writing(input)
    return overwrite(input, apply(operation, (input, drawn)))


def _single(name: str, formula: Formula) -> Operation:
    """The draw of `formula(terms, bits, dtype, *numbers)` for each element."""

    def emit(m: Any, state: Any, shape: tuple[int, ...], dtype: str, *numbers: float) -> Any:
        after, bits = bits_of(m, state, shape)
        return after, formula(m, bits, dtype, *numbers)

    return Operation(name, "", emit)


def _moved(drawn: Any, scale: Any, shift: Any) -> Any:
    drawn = drawn if scale == 1 else drawn * scale
    return drawn if shift == 0 else drawn + shift


EXPONENTIAL = _single("exponential", lambda m, b, d, rate: m.log(open_unit(m, b, d)) * (-1 / rate))
CAUCHY = _single("cauchy", lambda m, b, d, median, sigma: m.tan((open_unit(m, b, d) - 0.5) * math.pi) * sigma + median)
GEOMETRIC = _single(
    "geometric", lambda m, b, d, p: m.maximum(m.ceil(m.log(open_unit(m, b, d)) * (1 / math.log1p(-p))), 1.0)
)

WRITES = {
    name: _writes(name, f"{name.title().replace('_', '')}Backward0")
    for name in ("uniform", "normal", "exponential", "cauchy", "geometric", "log_normal")
}
WRITES["random"], WRITES["bernoulli"] = _writes("random", "RandomBackward0"), _writes("bernoulli", "BernoulliBackward2")


def _start(name: str, input: Any) -> tuple[tuple[int, ...], str]:
    """The shape of what is drawn and its dtype, a float's."""
    check_writable(input)
    kind = input._kind_of()
    check_float(name, ALL[kind.dtype])
    return kind.shape, kind.dtype


def uniform_(
    input: Any, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None, **names: Any
) -> Any:
    """Write numbers evenly distributed in [low, high); these are also called `from` and `to`."""
    low, high = names.pop("from", low), names.pop("to", high)
    if names:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(names))}'")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    shape, dtype = _start("uniform_", input)
    drawn = generator_of(generator, "uniform_").draw(UNIFORM, shape, dtype)
    return _write(input, _moved(drawn, high - low, low), WRITES["uniform"])


def normal_(input: Any, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Any:
    """Write numbers of a normal distribution."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    shape, dtype = _start("normal_", input)
    drawn = generator_of(generator, "normal_").draw(NORMAL, shape, dtype)
    return _write(input, _moved(drawn, std, mean), WRITES["normal"])


def log_normal_(input: Any, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Any:
    """Write exponentials of numbers of a normal distribution."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    shape, dtype = _start("log_normal_", input)
    drawn = generator_of(generator, "log_normal_").draw(NORMAL, shape, dtype)
    return _write(input, _moved(drawn, std, mean).exp(), WRITES["log_normal"])


def exponential_(input: Any, lambd: float = 1.0, *, generator: Generator | None = None) -> Any:
    """Write numbers of an exponential distribution of rate `lambd`."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    if not input._kind_of().is_float:
        raise RuntimeError(f"exponential_: expected a floating-point dtype, got {input.dtype}")
    shape, dtype = _start("exponential_", input)
    drawn = generator_of(generator, "exponential_").draw(EXPONENTIAL, shape, dtype, float(lambd))
    return _write(input, drawn, WRITES["exponential"])


def cauchy_(input: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Any:
    """Write numbers of a Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    shape, dtype = _start("cauchy_", input)
    drawn = generator_of(generator, "cauchy_").draw(CAUCHY, shape, dtype, float(median), float(sigma))
    return _write(input, drawn, WRITES["cauchy"])


def geometric_(input: Any, p: float, *, generator: Generator | None = None) -> Any:
    """Write how many trials of probability `p` it takes until one succeeds."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    check_writable(input)
    drawn = generator_of(generator, "geometric_").draw(GEOMETRIC, input._kind_of().shape, "f64", float(p))
    return _write(input, drawn, WRITES["geometric"])


def random_(input: Any, low: int | None = None, high: int | None = None, *, generator: Generator | None = None) -> Any:
    """Write integers from low (0) to high - 1, or all that the dtype has exactly."""
    check_writable(input)
    kind = ALL[input._kind_of().dtype]
    start, end = (low or 0, high) if high is not None else (0, low)
    if end is None:
        end = 2 ** digits_of(kind.code) if kind.is_floating_point else limits(kind)[1] + (kind.itemsize < 8)
    drawn = integers("random_", input._kind_of().shape, start, end, kind, generator)
    return _write(input, drawn, WRITES["random"])


# ---- true with a probability


def _chance(m: Any, state: Any, p: Any, shape: tuple[int, ...], dtype: str) -> Any:
    after, bits = bits_of(m, state, shape)
    drawn, p = unit(m, bits, p.value.type.dtype), m(widen(m.b, p.value, shape))
    return after, m(cast(m.b, m.lt(drawn, p).value, dtype=dtype))


CHANCE = Operation("bernoulli", "", _chance)
BERNOULLI = _writes("bernoulli", "BernoulliBackward0")


def _drawn_chances(name: str, p: Any, shape: tuple[int, ...], dtype: str, generator: Any) -> Tensor:
    def test(chances: np.ndarray) -> None:
        good = (chances >= 0) & (chances <= 1)
        if not good.all():
            raise RuntimeError(f"{name}: expected probabilities with 0 <= p_in <= 1, but got {chances[~good].flat[0]}")

    if isinstance(p, Core):
        check_values(p, test)
    elif 0 <= p <= 1:
        p = tensor(p, dtype=ALL["f64"])
    else:
        raise RuntimeError(f"{name} expects p to be in [0, 1], but got p={p}")
    return generator_of(generator, name).draw(CHANCE, shape, dtype, given=(p,))


def bernoulli(input: Any, p: float | None = None, *, generator: Generator | None = None, out: Any = None) -> Tensor:
    """1 with the probabilities in `input`, or with `p`, else 0."""
    kind = input._kind_of()
    if p is not None:
        return finish(_drawn_chances("bernoulli", p, kind.shape, kind.dtype, generator), False, out)
    check_float("bernoulli", ALL[kind.dtype])
    drawn = _drawn_chances("bernoulli", input, kind.shape, kind.dtype, generator)
    return finish(_drawn_with(input, drawn, BERNOULLI), False, out)


@recorded
def _drawn_with(input: Any, drawn: Core, operation: Operation) -> Any:
    """What was drawn with a parameter, which gets a gradient of zero."""
    return apply(operation, (input, drawn)) if requires(input) else drawn


def bernoulli_(input: Any, p: Any = 0.5, *, generator: Generator | None = None) -> Any:
    """Write 1 with probability `p`, a number or a tensor, else 0."""
    check_writable(input, [p])
    kind = input._kind_of()
    if isinstance(p, Core):
        if p is not input:
            check_apart(input, p, same=True)
        check_float("bernoulli_", ALL[p._kind_of().dtype])
        p = expand(p, kind.shape)  # type: ignore[arg-type]
    drawn = _drawn_chances("bernoulli_", p, kind.shape, kind.dtype, generator)
    return _write(input, drawn, WRITES["bernoulli"])


# ---- with parameters


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers of normal distributions, of which one or both parameters are tensors, or numbers with a `size`."""
    for name, value in (("mean", mean), ("std", std)):
        if not isinstance(value, Core) and number_of(value) is None:
            raise TypeError(f"normal(): argument '{name}' must be Tensor or float, not {type(value).__name__}")
    given = [a for a in (mean, std) if isinstance(a, Core)]
    if not given and size is None:
        raise TypeError("normal(): two numbers need a size, a sequence of ints")
    if isinstance(std, Core):
        check_values(std, SPREADS)
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if not given:
        made = _moved(randn(size, generator=generator, dtype=dtype), std, mean)
        return finish(made, requires_grad, out)
    kinds = [a._kind_of() for a in given]
    for kind in kinds:
        check_float("normal", ALL[kind.dtype])
    drawn = randn(common_shape([k.shape for k in kinds]), generator=generator, dtype=ALL[kinds[0].dtype])
    return finish(_normal(drawn, mean, std), False, out)


@recorded
def _normal(drawn: Any, mean: Any, std: Any) -> Any:
    made = drawn * _constant(std) + _constant(mean)
    first = mean if isinstance(mean, Core) else std
    return made if first._read().kind is not made._read().kind else apply(NORMAL_OF, (first, made))


NORMAL_OF = _writes("normal", "NormalBackward1")


def _demand(good: Callable[[np.ndarray], np.ndarray], text: str) -> Callable[[np.ndarray], None]:
    """A test that all values are good."""

    def test(values: np.ndarray) -> None:
        if not good(values).all():
            raise RuntimeError(text)

    return test


SPREADS = _demand(lambda v: ~(v < 0), "normal expects all elements of std >= 0.0")
RATES = _demand(lambda v: v >= 0, "invalid Poisson rate, expected rate to be non-negative")
COUNTS = _demand(lambda v: v >= 0, "binomial expects counts >= 0")
CHANCES = _demand(lambda v: (v >= 0) & (v <= 1), "binomial expects probabilities in [0, 1]")


def _constant(value: Any) -> Any:
    return wrap(value._read()) if isinstance(value, Core) else value


def _seeds(state: np.ndarray) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=state.view(np.uint64)))


def _from_numpy(name: str, draw: Formula) -> Operation:
    """A draw that takes an unknown number of steps: NumPy's, from a state of our own."""

    def emit(m: Any, state: Any, *given: Any) -> Any:
        *terms, shape, dtype = given
        after, _ = bits_of(m, state, shape)
        types = [Type(dtype, shape)]
        (made,) = outside(m, name, lambda s, *xs: draw(_seeds(s), *xs), [state, *terms], types)
        return after, made

    return Operation(name, "", emit)


POISSON = _from_numpy("poisson", lambda rng, rate: rng.poisson(rate))
BINOMIAL = _from_numpy("binomial", lambda rng, n, p: rng.binomial(n.astype(np.int64), p))
GAMMA = _from_numpy("standard_gamma", lambda rng, a: rng.standard_gamma(a))
POISSON_OF = _writes("poisson", "PoissonBackward0")
BINOMIAL_OF = _writes("binomial", "BinomialBackward0")


def poisson(input: Any, generator: Generator | None = None) -> Tensor:
    """Counts of Poisson distributions with the rates in `input`."""
    kind = input._kind_of()
    check_float("poisson", ALL[kind.dtype])
    check_values(input, RATES)
    drawn = generator_of(generator, "poisson").draw(POISSON, kind.shape, kind.dtype, given=(input,))
    return _drawn_with(input, drawn, POISSON_OF)


def binomial(count: Any, prob: Any, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials of probability `prob` succeed."""
    kind = count._read().kind
    check_float("binomial", ALL[kind.dtype])
    shape = common_shape([kind.shape, shape_of(prob)])
    count, prob = expand(count, shape), expand(prob, shape)
    check_values(count, COUNTS)
    check_values(prob, CHANCES)
    drawn = generator_of(generator, "binomial").draw(BINOMIAL, shape, kind.dtype, given=(count, prob))
    return _drawn_with(count, drawn, BINOMIAL_OF)


def drawn_gamma(concentration: Any, generator: Generator | None = None) -> Tensor:
    """Draws from gamma distributions of rate 1, without a gradient."""
    kind = concentration._kind_of()
    check_float("standard_gamma", ALL[kind.dtype])
    drawn = generator_of(generator, "standard_gamma").draw(GAMMA, kind.shape, kind.dtype, given=(concentration,))
    return finish(drawn, False, None)


__all__ = [
    "bernoulli", "bernoulli_", "binomial", "cauchy_", "exponential_", "geometric_", "log_normal_",
    "normal", "normal_", "poisson", "random_", "uniform_",
]  # fmt: skip
