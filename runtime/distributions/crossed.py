"""The divergences between different families that are known in closed form."""

from __future__ import annotations

import math
from typing import Any

from ..tensor.face import functions as T
from ..tensor.face import special_functions as special
from ..tensor.value.core import Core
from .continuous import Laplace, Normal, Uniform
from .correlations import ContinuousBernoulli
from .derived import Gumbel, Pareto
from .discrete import Bernoulli, Binomial, Poisson
from .divergences import infinite_where
from .gammas import Beta, Exponential, Gamma
from .kl import kl_divergence, register_kl
from .utils import euler_constant


def _infinite(p: Any, q: Any) -> Any:
    """Some of what `p` draws is impossible under `q`."""
    return T.full(T.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, dtype=_number_of(p).dtype)


def _number_of(p: Any) -> Any:
    return p.mean if isinstance(p, Beta) else next(v for v in vars(p).values() if isinstance(v, Core))


_POSITIVE, _REAL = (Exponential, Gamma, Pareto), (Gumbel, Laplace, Normal)

for _wide, _narrows in (
    (_POSITIVE, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (_REAL, (Beta, ContinuousBernoulli, *_POSITIVE, Uniform)), ((Beta, ContinuousBernoulli), (Pareto,)),
    ((Poisson,), (Bernoulli, Binomial)),
):  # fmt: skip
    for _p in _wide:
        for _q in _narrows:
            if _p is not _q:
                register_kl(_p, _q)(_infinite)


def _log_beta(a: Any, b: Any) -> Any:
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


@register_kl(Bernoulli, Poisson)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Exponential, Gamma)
def _(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    a = q.concentration
    return -a * ratio.log() + ratio + a.lgamma() + a * euler_constant() - (1 + euler_constant())


@register_kl(Gamma, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


def _against_normal(p: Any, q: Any) -> Any:
    """A normal density asks for the mean and the variance only."""
    square = p.variance + (p.mean - q.loc).pow(2)
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * square / q.scale.pow(2)


for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_p, Normal)(_against_normal)


@register_kl(Pareto, Normal)
def _(p: Any, q: Any) -> Any:
    return infinite_where(p.alpha <= 2, _against_normal(p, q))


@register_kl(Beta, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _(p: Any, q: Any) -> Any:
    a, total = p.concentration1, p.concentration1 + p.concentration0
    mean_log = a.digamma() - total.digamma()
    return -p.entropy() - (
        q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * mean_log - q.rate * p.mean
    )


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    made = p.mean * (p.logits - q.logits) + p._log_of_constant() + (-p.probs).log1p()
    return made - q._log_of_constant() - (-q.probs).log1p()


def _against_bernoulli(p: Any, q: Any) -> Any:
    """A continuous Bernoulli density asks for the mean only."""
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_of_constant()


register_kl(Beta, ContinuousBernoulli)(_against_bernoulli)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    return infinite_where((p.low < 0) | (p.high > 1), _against_bernoulli(p, q))


@register_kl(ContinuousBernoulli, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(ContinuousBernoulli, Uniform)
@register_kl(Beta, Uniform)
def _(p: Any, q: Any) -> Any:
    return infinite_where((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Normal, Laplace)
def _(p: Any, q: Any) -> Any:
    gap = (p.loc - q.loc) / p.scale
    away = math.sqrt(2 / math.pi) * (-0.5 * gap.pow(2)).exp() + gap * T.erf(math.sqrt(0.5) * gap)
    return -p.entropy() + (2 * q.scale).log() + p.scale / q.scale * away


def _against_gumbel(p: Any, q: Any, transform: Any) -> Any:
    """A Gumbel density asks for the mean, and for that of e^(-x / scale)."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * transform


@register_kl(Normal, Gumbel)
def _(p: Any, q: Any) -> Any:
    return _against_gumbel(p, q, (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp())


@register_kl(Exponential, Gumbel)
def _(p: Any, q: Any) -> Any:
    return _against_gumbel(p, q, p.rate * q.scale / (p.rate * q.scale + 1))


@register_kl(Gamma, Gumbel)
def _(p: Any, q: Any) -> Any:
    return _against_gumbel(p, q, (1 + 1 / (p.rate * q.scale)).pow(-p.concentration))


@register_kl(Uniform, Gumbel)
def _(p: Any, q: Any) -> Any:
    gap = (-p.low / q.scale).exp() - (-p.high / q.scale).exp()
    return _against_gumbel(p, q, gap * q.scale / (p.high - p.low))


@register_kl(Pareto, Exponential)
def _(p: Any, q: Any) -> Any:
    made = (p.alpha / (p.scale * q.rate)).log() - 1 / p.alpha + p.alpha * p.scale * q.rate / (p.alpha - 1) - 1
    return infinite_where(p.alpha <= 1, made)


@register_kl(Pareto, Gamma)
def _(p: Any, q: Any) -> Any:
    mean_log = p.scale.log() + 1 / p.alpha
    made = p.alpha.log() - p.scale.log() - (1 + 1 / p.alpha) + q.concentration.lgamma()
    made = made - q.concentration * q.rate.log() + (1 - q.concentration) * mean_log
    return infinite_where(p.alpha <= 1, made + q.rate * p.alpha * p.scale / (p.alpha - 1))


def _mean_x_log_x(x: Any) -> Any:
    """What the integral of log x is made of."""
    return special.xlogy(x, x) - x


@register_kl(Uniform, Exponential)
def _(p: Any, q: Any) -> Any:
    made = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return infinite_where(p.low < 0, made)


@register_kl(Uniform, Gamma)
def _(p: Any, q: Any) -> Any:
    length = p.high - p.low
    mean_log = (_mean_x_log_x(p.high) - _mean_x_log_x(p.low)) / length
    made = q.concentration.lgamma() - q.concentration * q.rate.log() - length.log()
    return infinite_where(p.low < 0, made + (1 - q.concentration) * mean_log + q.rate * (p.high + p.low) / 2)


@register_kl(Uniform, Beta)
def _(p: Any, q: Any) -> Any:
    length = p.high - p.low
    up = (_mean_x_log_x(p.high) - _mean_x_log_x(p.low)) / length
    down = (_mean_x_log_x(1 - p.low) - _mean_x_log_x(1 - p.high)) / length
    made = _log_beta(q.concentration1, q.concentration0) - length.log()
    made = made + (1 - q.concentration1) * up + (1 - q.concentration0) * down
    return infinite_where((p.high > 1) | (p.low < 0), made)


@register_kl(Uniform, Pareto)
def _(p: Any, q: Any) -> Any:
    length = p.high - p.low
    mean_log = (_mean_x_log_x(p.high) - _mean_x_log_x(p.low)) / length
    made = mean_log * (q.alpha + 1) - q.alpha.log() - q.alpha * q.scale.log() - length.log()
    return infinite_where(p.low < q.scale, made)


__all__ = ["kl_divergence", "register_kl"]
