"""Kullback and Leibler's divergence of two distributions, by a table of pairs of families that anybody may extend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.reverse.autograd import grad
from ..tensor.reverse.modes import enable_grad
from .distribution import Distribution, ExponentialFamily

Rule = Callable[[Any, Any], Any]

_RULES: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """Decorate the function that makes the divergence of a distribution of one class from one of another.

    >>> import pullback as torch
    >>> from pullback.distributions import Normal, kl_divergence, register_kl
    >>> class Narrow(Normal):
    ...     pass
    >>> @register_kl(Narrow, Normal)
    ... def _(p, q):
    ...     return torch.zeros(())
    >>> kl_divergence(Narrow(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.)

    Raises
    ------
    TypeError
        if one of them is no class
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"{name} must be a class of distributions, not {cls!r}")

    def decorated(rule: Rule) -> Rule:
        _RULES[type_p, type_q] = rule
        return rule

    return decorated


def _rule(p: type, q: type) -> Rule | None:
    """The rule of the nearest base classes of both."""
    known = [
        (i + j, i, (a, b)) for i, a in enumerate(p.__mro__) for j, b in enumerate(q.__mro__) if (a, b) in _RULES
    ]
    return _RULES[min(known, key=lambda k: k[:2])[2]] if known else None


def _unknown(p: Any, q: Any) -> str:
    return f"no rule is known for the divergence of {type(p).__name__} from {type(q).__name__}: see register_kl"


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The mean under `p` of the logarithm of the ratio of its density to that of `q`, for each of the batch.

    Raises
    ------
    NotImplementedError
        if no rule is known for their classes; `register_kl` tells one
    """
    rule = _rule(type(p), type(q))
    if rule is None:
        raise NotImplementedError(_unknown(p, q))
    return rule(p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normaliser (Nielsen and Nock, 2010, equation 7)."""
    if type(p) is not type(q):
        raise NotImplementedError(_unknown(p, q))
    with enable_grad():
        natural = [x.detach().requires_grad_() for x in p._natural_params]
        normalizer = p._log_normalizer(*natural)
        gradients = grad(normalizer.sum(), natural, create_graph=True)
    made = q._log_normalizer(*q._natural_params) - normalizer
    for x, y, g in zip(natural, q._natural_params, gradients, strict=True):
        made = made - ((y - x) * g).reshape((*p.batch_shape, -1)).sum(-1)
    return made


__all__ = ["kl_divergence", "register_kl"]
