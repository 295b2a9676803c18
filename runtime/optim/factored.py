"""Adafactor: an optimiser that remembers rows and columns of squares, and Muon: one whose steps are orthogonal."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...compiler.ops.bits import frexp
from ...compiler.ops.contract import contract
from ...compiler.ops.elementwise import cast
from ...compiler.ops.shape import transpose
from ..tensor.ops.arranging.creation import zeros, zeros_like
from ..tensor.ops.folds.reductions import back, keep, total
from ..tensor.trace.fragments.fragments import Operation, widen
from ..tensor.value.dtypes import ALL, epsilon
from .optimizer import Optimizer, Plan, plain


def _wide(m: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return m(widen(m.b, x.value, shape))


def _size(m: Any, x: Any) -> Any:
    """The 2-norm over the root of the number of elements."""
    shape = x.value.type.static_shape()
    return m.sqrt(total(m, x * x, tuple(range(len(shape)))) * (1.0 / max(x.value.type.size, 1)))


def _towards(m: Any, x: Any, y: Any, share: Any) -> Any:
    return x + _wide(m, share, x.value.type.static_shape()) * (y - x)


def _adafactor(m: Any, p: Any, g: Any, *rest: Any) -> Any:
    *held, share, rate, kept, low, floor, threshold, factored, sign = rest
    shape = p.value.type.static_shape()
    g = -g if sign else g
    rate = m.maximum(floor, _size(m, p)) * rate
    squares = g * g
    if factored:
        new = []
        for at, old in zip((len(shape) - 1, len(shape) - 2), held, strict=True):
            mean = keep(m, total(m, squares, (at,)), shape, (at,), True) * (1.0 / max(shape[at], 1))
            new.append(_towards(m, old, mean, share))
        rows, columns = (_wide(m, x, shape) for x in new)
        over = shape[-2]
        mean = total(m, rows, (len(shape) - 2,)) * (1.0 / max(over, 1))
        spread = rows * columns / back(m, m.maximum(mean, _wide(m, low, mean.value.type.static_shape())), shape,
                                       (len(shape) - 2,))
    else:
        new = [_towards(m, held[0], squares, share)]
        spread = new[0]
    step = g / m.sqrt(m.maximum(spread, _wide(m, low * low, shape)))
    scale = rate / m.maximum(_size(m, step) / threshold, 1.0)
    return p * _wide(m, kept, shape) - _wide(m, scale, shape) * step, *new


class Adafactor(Optimizer):
    """Steps by the gradient over the root of its squares, of which rows and columns are remembered (Shazeer and
    Stern, 2018, arXiv:1804.04235): parameters of n x m cost n + m numbers.

    lr            the largest step in proportion to the parameters' size, and the share of `weight_decay`
    beta2_decay   step t follows the squares by t ** beta2_decay of the way
    eps           the least average of squares (by default the dtype's resolution), the least size of parameters
    d             steps whose size is above are cut to it
    """

    formula = Operation("adafactor", "", _adafactor)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        rate = _one(lr)
        _at_least(0, "Learning rate", rate)
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        _at_least(0, "epsilon1", 0 if eps[0] is None else eps[0])
        _at_least(0, "epsilon2", eps[1])
        _at_least(1, "Clipping threshold d", d)
        _at_least(0, "weight_decay", weight_decay)
        settings = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, settings)

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        kind, state = p._kind_of(), self.state[p]
        if kind.is_complex:
            raise RuntimeError("Adafactor does not support complex parameters")
        shape, dtype = kind.shape, ALL[kind.dtype]
        names = ("row_var", "col_var") if len(shape) > 1 else ("variance",)
        if not state:
            state["step"] = 0
            if len(shape) > 1:
                state["row_var"] = zeros((*shape[:-1], 1), dtype=dtype)
                state["col_var"] = zeros((*shape[:-2], 1, shape[-1]), dtype=dtype)
            else:
                state["variance"] = zeros_like(p)
        state["step"] += 1
        step, rate, (low, floor) = state["step"], plain(group["lr"]), group["eps"]
        low = epsilon(dtype) if low is None else low
        numbers = (
            step ** group["beta2_decay"], min(rate, 1 / sqrt(step)), 1 - rate * group["weight_decay"], low, floor,
            group["d"],
        )  # fmt: skip
        return Plan(tuple([state[name] for name in names]), numbers, (len(shape) > 1, group["maximize"]))


def _one(lr: Any) -> float:
    if getattr(lr, "numel", lambda: 1)() != 1:
        raise ValueError("Tensor lr must be 1-element")
    return plain(lr)


def _at_least(bound: float, name: str, value: float) -> None:
    if not value >= bound:
        raise ValueError(f"{name} should be >= {bound} but is: {value}")


# ---- orthogonal steps


def _rounded(m: Any, x: Any) -> Any:
    """The nearest number of eight bits, which is what bfloat16 has."""
    mantissa, exponent = map(m, m.b.emit(frexp, x.value))
    return m.ldexp(m.rint(mantissa * 256.0) * (1.0 / 256.0), exponent)


def _product(m: Any, x: Any, y: Any, left: int = 1, right: int = 0) -> Any:
    return m(contract(m.b, x.value, y.value, left=(left,), right=(right,)))


def orthogonalised(m: Any, g: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """A matrix whose singular values are near one and whose singular vectors are g's, by Newton and Schulz's iteration
    with a polynomial of degree five, in numbers that are rounded to bfloat16 as PyTorch's are."""
    a, b, c = (float(x) for x in coefficients)
    rows, columns = g.value.type.static_shape()
    dtype = g.value.type.dtype
    x = g if dtype == "f32" else m(cast(m.b, g.value, dtype="f32"))
    x = _rounded(m, x)
    if rows > columns:
        x = m(transpose(m.b, x.value, axes=(1, 0)))
    size = _rounded(m, m.sqrt(total(m, x * x, (0, 1))))
    x = _rounded(m, x / _wide(m, m.maximum(size, eps), x.value.type.static_shape()))
    for _ in range(steps):
        gram = _rounded(m, _product(m, x, x, right=1))
        update = _rounded(m, gram * b + _product(m, gram, gram) * c)
        x = _rounded(m, x * a + _product(m, update, x))
    if rows > columns:
        x = m(transpose(m.b, x.value, axes=(1, 0)))
    return x if dtype == "f32" else m(cast(m.b, x.value, dtype=dtype))


def _muon(m: Any, p: Any, g: Any, buffer: Any, *rest: Any) -> Any:
    share, rate, kept, nesterov, coefficients, steps, eps = rest
    shape = p.value.type.static_shape()
    buffer = _towards(m, buffer, g, share)
    step = g + _wide(m, 1.0 - share, shape) * (buffer - g) if nesterov else buffer
    step = orthogonalised(m, step, coefficients, steps, eps)
    return p * _wide(m, kept, shape) - _wide(m, rate, shape) * step, buffer


class Muon(Optimizer):
    """Steps by the orthogonal matrix next to the momentum, for parameters that are matrices (Jordan et al., 2024).

    adjust_lr_fn   "original" (the root of rows over columns, where it is above 1) or "match_rms_adamw" (0.2 times the
                   root of the larger size), by which `lr` is multiplied
    """

    formula = Operation("muon", "", _muon)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        rate = _one(lr)
        _at_least(0, "Learning rate", rate)
        _at_least(0, "momentum", momentum)
        _at_least(0, "weight decay", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        settings = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, settings)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found one of size {p.size()}")

    def plan(self, group: dict[str, Any], p: Any) -> Plan:
        kind, state = p._kind_of(), self.state[p]
        if kind.is_complex:
            raise RuntimeError("Muon does not support complex parameters")
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if not state:
            state["momentum_buffer"] = zeros_like(p)
        rows, columns = kind.shape
        ways = {"match_rms_adamw": 0.2 * sqrt(max(rows, columns))}
        ratio = ways.get(group["adjust_lr_fn"], sqrt(max(1, rows / max(columns, 1))))
        rate = plain(group["lr"])
        numbers = (1 - group["momentum"], rate * ratio, 1 - rate * group["weight_decay"])
        choices = (group["nesterov"], tuple(group["ns_coefficients"]), group["ns_steps"], float(group["eps"]))
        return Plan((state["momentum_buffer"],), numbers, choices)


__all__ = ["Adafactor", "Muon"]
