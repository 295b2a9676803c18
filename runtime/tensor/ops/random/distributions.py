"""Draws from distributions: functions of parameters, and functions that write into a tensor.

A draw has no derivative with respect to its parameters; as in PyTorch its gradient is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....compiler.ops.elementwise import cast
from ...calls.asking import check_values
from ...calls.calls import recorded
from ...face.inplace import start_writing
from ...reverse.nodes import UNKNOWN
from ...trace.fragments.fragments import Operation
from ...value.cells import is_alike
from ...value.core import Core, apply, number_of, requires, wrap
from ...value.dtypes import ALL
from ...value.promotion import common_shape
from ...value.writing import check_apart, check_writable, overwrite
from ..arranging.shapes import expand, shape_of
from ..elementwise.complexes import view_as_complex, view_as_real
from ..elementwise.elementary import cast_to
from . import laws, rejections
from .draws import Generator, check_float, drawn_normal, finish, generator_of, integers, limits, randn
from .generators import Law
from .layouts import is_whole, laid_out


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


WRITES = {
    name: _writes(name, f"{name.title().replace('_', '')}Backward0")
    for name in ("uniform", "normal", "exponential", "cauchy", "geometric", "log_normal")
}
WRITES["random"], WRITES["bernoulli"] = _writes("random", "RandomBackward0"), _writes("bernoulli", "BernoulliBackward2")


def _fill(name: str, input: Any, generator: Any, law: Law, *numbers: Any) -> Any:
    """Write what a law for floats gives."""
    if input.is_meta:
        return input
    check_writable(input)
    dtype = input._kind_of().dtype
    kind, source = ALL[dtype], generator_of(generator, f"{name}_")
    if kind.is_complex and name in PARTED:
        drawn = view_as_complex(laid_out(source, law, view_as_real(input), kind.to_real().code, *numbers))
    else:
        check_float(f"{name}_", kind)
        drawn = laid_out(source, law, input, dtype, *numbers)
    return _write(input, drawn, WRITES[name])


PARTED = "uniform", "normal"
"""Laws by which both parts of complex numbers are drawn."""


def uniform_(
    input: Any, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None, **names: Any
) -> Any:
    """Write numbers evenly distributed in [low, high); these are also called `from` and `to`."""
    low, high = names.pop("from", low), names.pop("to", high)
    if names:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(names))}'")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    return _fill("uniform", input, generator, laws.uniform, float(low), float(high))


def normal_(input: Any, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Any:
    """Write numbers of a normal distribution."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if input.is_complex():  # half of the variance in each part, and the mean in both
        std = std / math.sqrt(2)
    return _fill("normal", input, generator, laws.normal, float(mean), float(std), is_whole(input))


def log_normal_(input: Any, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Any:
    """Write exponentials of numbers of a normal distribution."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return _fill("log_normal", input, generator, laws.log_normal, float(mean), float(std))


def exponential_(input: Any, lambd: float = 1.0, *, generator: Generator | None = None) -> Any:
    """Write numbers of an exponential distribution of rate `lambd`."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    if not input._kind_of().is_float:
        raise RuntimeError(f"exponential_: expected a floating-point dtype, got {input.dtype}")
    return _fill("exponential", input, generator, laws.exponential, float(lambd))


def cauchy_(input: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Any:
    """Write numbers of a Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return _fill("cauchy", input, generator, laws.cauchy, float(median), float(sigma))


def geometric_(input: Any, p: float, *, generator: Generator | None = None) -> Any:
    """Write how many trials of probability `p` it takes until one succeeds."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    check_writable(input)
    drawn = laid_out(generator_of(generator, "geometric_"), laws.geometric, input, float(p))
    return _write(input, drawn, WRITES["geometric"])


WHOLE = {"f32": 2**24 + 1, "f64": 2**53 + 1}
"""So many integers from 0 on does a float have."""


def random_(input: Any, *ends: int | None, generator: Generator | None = None, **named: int | None) -> Any:
    """Write integers from `from` (0) to `to` - 1, or all that the dtype has exactly."""
    if len(ends) > 2 or not named.keys() <= {"from", "to"} or len(ends) + len(named) > 2 or (ends and "from" in named):
        raise TypeError(f"random_(): expected from and to, got {ends} and {named}")
    low, high = (*ends, None, None)[:2] if ends else (named.get("from"), None)
    if "to" in named:
        low, high = low or 0, named["to"]
    check_writable(input)
    kind = ALL[input._kind_of().dtype]
    start, end = (low or 0, high) if high is not None else (0, low)
    long = None
    if end is None:
        end, long = WHOLE.get(kind.code) or limits(kind)[1] + 1, kind.itemsize == 8
    drawn = integers("random_", input._kind_of().shape, start, end, kind, generator, input, long)
    return _write(input, drawn, WRITES["random"])


# ---- true with a probability


BERNOULLI = _writes("bernoulli", "BernoulliBackward0")


def _check_chances(name: str) -> Callable[[np.ndarray], None]:
    def test(chances: np.ndarray) -> None:
        good = (chances >= 0) & (chances <= 1)
        if not good.all():
            raise RuntimeError(f"{name}: expected probabilities with 0 <= p_in <= 1, but got {chances[~good].flat[0]}")

    return test


def _drawn_chances(name: str, p: Any, like: Core, dtype: str, generator: Any) -> Any:
    """1 with a chance, else 0, in the shape of a tensor, to which chances in a tensor broadcast."""
    if isinstance(p, Core):
        check_values(p, _check_chances(name))
        given = generator_of(generator, name)
        made = given.draw_from(laws.chosen, like._kind_of().shape, (p,), p._kind_of().dtype)
    elif 0 <= p <= 1:
        made = laid_out(generator_of(generator, name), laws.kept, like, float(p))
    else:
        raise RuntimeError(f"{name} expects p to be in [0, 1], but got p={p}")
    return cast_to(made, dtype)  # type: ignore[return-value]


def bernoulli(input: Any, p: float | None = None, *, generator: Generator | None = None, out: Any = None) -> Any:
    """1 with the probabilities in `input`, or with `p`, else 0."""
    kind = input._kind_of()
    if p is not None:
        return finish(_drawn_chances("bernoulli", p, input, kind.dtype, generator), False, out)
    check_float("bernoulli", ALL[kind.dtype])
    drawn = _drawn_chances("bernoulli", input, input, kind.dtype, generator)
    return finish(_drawn_with(input, drawn, BERNOULLI), False, out)


@recorded
def _drawn_with(input: Any, drawn: Core, operation: Operation) -> Any:
    """What was drawn with a parameter, which gets a gradient of zero."""
    return apply(operation, (input, drawn)) if requires(input) else drawn


def bernoulli_(input: Any, p: Any = 0.5, *, generator: Generator | None = None) -> Any:
    """Write 1 with probability `p`, a number or a tensor, else 0."""
    check_writable(input, [p])
    kind = input._kind_of()
    if kind.is_complex:
        raise NotImplementedError(f"bernoulli_: not implemented for tensors of {input.dtype}; draw a float tensor")
    if isinstance(p, Core):
        if p is not input:
            check_apart(input, p, same=True)
        check_float("bernoulli_", ALL[p._kind_of().dtype])
    drawn = _drawn_chances("bernoulli_", p, input, kind.dtype, generator)
    return _write(input, drawn, WRITES["bernoulli"])


# ---- with parameters


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
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
        return drawn_normal(size, dtype, requires_grad, generator, out, float(mean), float(std))  # type: ignore[arg-type]
    kinds = [a._kind_of() for a in given]
    for kind in kinds:
        check_float("normal", ALL[kind.dtype])
    shape, dtype = common_shape([k.shape for k in kinds]), ALL[kinds[0].dtype]
    if not isinstance(std, Core):
        drawn = drawn_normal(shape, dtype, False, generator, None, 0.0, float(std))
        return finish(_normal(drawn, mean, 1.0), False, out)
    return finish(_normal(randn(shape, generator=generator, dtype=dtype), mean, std), False, out)


@recorded
def _normal(drawn: Any, mean: Any, std: Any) -> Any:
    made = drawn * _constant(std) + _constant(mean)
    first = mean if isinstance(mean, Core) else std
    return made if not is_alike(first._kind_of(), made._kind_of()) else apply(NORMAL_OF, (first, made))


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


POISSON_OF = _writes("poisson", "PoissonBackward0")
BINOMIAL_OF = _writes("binomial", UNKNOWN)


def poisson(input: Any, generator: Generator | None = None) -> Any:
    """Counts of Poisson distributions with the rates in `input`."""
    kind = input._kind_of()
    check_float("poisson", ALL[kind.dtype])
    check_values(input, RATES)
    drawn = generator_of(generator, "poisson").draw_from(rejections.poisson, kind.shape, (input,), kind.dtype)
    return _drawn_with(input, drawn, POISSON_OF)


def binomial(count: Any, prob: Any, generator: Generator | None = None) -> Any:
    """How many of `count` trials of probability `prob` succeed."""
    kind = count._kind_of()
    check_float("binomial", ALL[kind.dtype])
    shape = common_shape([kind.shape, shape_of(prob)])
    count, prob = expand(count, shape), expand(prob, shape)
    check_values(count, COUNTS)
    check_values(prob, CHANCES)
    drawn = generator_of(generator, "binomial").draw_from(rejections.binomial, shape, (count, prob), kind.dtype)
    return _drawn_with(count if requires(count) else prob, drawn, BINOMIAL_OF)


def drawn_gamma(concentration: Any, generator: Generator | None = None) -> Any:
    """Draws from gamma distributions of rate 1, without a gradient."""
    kind = concentration._kind_of()
    check_float("standard_gamma", ALL[kind.dtype])
    source = generator_of(generator, "standard_gamma")
    drawn = source.draw_from(rejections.gamma, kind.shape, (concentration,), kind.dtype)
    return finish(drawn, False, None)


__all__ = [
    "bernoulli", "bernoulli_", "binomial", "cauchy_", "exponential_", "geometric_", "log_normal_",
    "normal", "normal_", "poisson", "random_", "uniform_",
]  # fmt: skip
