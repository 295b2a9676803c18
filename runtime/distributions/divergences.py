"""The divergences that are known in closed form."""

from __future__ import annotations

import math
from typing import Any

from ..nn import functional as F
from ..tensor.face import functions as T
from .classes import Categorical, Multinomial, OneHotCategorical
from .composed import Independent
from .continuous import Cauchy, Laplace, Normal, Uniform
from .derived import Gumbel, HalfNormal, Pareto
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .gammas import Beta, Dirichlet, Exponential, Gamma
from .kl import kl_divergence, register_kl
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, _diagonal, _solved
from .transformed import TransformedDistribution
from .utils import euler_constant, sum_rightmost


def infinite_where(bad: Any, made: Any) -> Any:
    """Infinite where what `p` draws may be impossible under `q`."""
    return T.where(bad, math.inf, made)


# ---- one family


@register_kl(Bernoulli, Bernoulli)
def _(p: Any, q: Any) -> Any:
    gain = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    loss = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    gain = infinite_where((q.probs == 0) & (p.probs != 0), gain)
    loss = infinite_where((q.probs == 1) & (p.probs != 1), loss)
    return T.where(p.probs == 0, 0.0, gain) + T.where(p.probs == 1, 0.0, loss)


@register_kl(Binomial, Binomial)
def _(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("the divergence of binomial distributions where q.total_count > p.total_count")
    made = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return infinite_where(p.total_count > q.total_count, made)


@register_kl(Categorical, Categorical)
def _(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = infinite_where((q.probs == 0).expand_as(terms), terms)
    return T.where((p.probs == 0).expand_as(terms), 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Multinomial, Multinomial)
def _(p: Any, q: Any) -> Any:
    if p.total_count != q.total_count:
        raise NotImplementedError("the divergence of multinomial distributions of different total_count")
    return p.total_count * kl_divergence(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - T.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Normal, Normal)
def _(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _(p: Any, q: Any) -> Any:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + gap / q.scale + ratio * (-gap / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _(p: Any, q: Any) -> Any:
    """Chyzak and Nielsen, 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    shift = (q.loc - p.loc) / q.scale
    mean = shift - ratio * euler_constant()
    return -ratio.log() - mean + (shift + (1 + ratio).lgamma()).exp() - (1 + euler_constant())


@register_kl(Uniform, Uniform)
def _(p: Any, q: Any) -> Any:
    return infinite_where((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Exponential, Exponential)
def _(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _(p: Any, q: Any) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


@register_kl(Pareto, Pareto)
def _(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    made = q.alpha * ratio.log() + (p.alpha / q.alpha).log() + q.alpha / p.alpha - 1
    return infinite_where(ratio < 1, made)


@register_kl(Beta, Beta)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    made = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return made + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


# ---- vectors


def _same_length(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"the vectors are of different lengths, {p.event_shape} and {q.event_shape}")


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: Any, q: Any) -> Any:
    _same_length(p, q)
    a, b = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    columns = _solved(b.unsqueeze(-3), a.mT)
    spread = columns.pow(2).sum((-2, -1))
    gap = _solved(b, q.loc - p.loc).pow(2).sum(-1)
    logs = _diagonal(b).log().sum(-1) - _diagonal(a).log().sum(-1)
    return logs + 0.5 * (spread + gap - p.event_shape[0])


def _of_matrices(p: Any, q: Any) -> Any:
    """By their triangles, which are asked of those that are not made of one."""
    _same_length(p, q)
    full = [MultivariateNormal(d.loc, scale_tril=d.scale_tril) for d in (p, q)]
    return kl_divergence(*full)


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        if LowRankMultivariateNormal in (_p, _q):
            register_kl(_p, _q)(_of_matrices)


# ---- distributions of distributions


@register_kl(Independent, Independent)
def _(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the divergence of Independent distributions of different reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the divergence of distributions under different transforms")
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), extra)
