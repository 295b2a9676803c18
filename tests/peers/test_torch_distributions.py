"""Families that few programs use: the draws, moments, densities and gradients of torch.distributions."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback

MATRIX = [[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 1.5]]
SHARES = [0.001, 0.2, 0.4995, 0.5, 0.5004, 0.9]


def tensor(t: Any, value: Any) -> Any:
    return t.tensor(value, dtype=t.float64, requires_grad=True)


MADE = {
    "shares": lambda t: (p := tensor(t, SHARES), t.distributions.ContinuousBernoulli(p)),
    "odds": lambda t: (p := tensor(t, [-2.0, 0.0, 3.0]), t.distributions.ContinuousBernoulli(logits=p)),
    "correlations": lambda t: (p := tensor(t, [0.5, 1.0, 3.0]), t.distributions.LKJCholesky(4, p)),
    "covariance": lambda t: (p := tensor(t, MATRIX), t.distributions.Wishart(4.0, p)),
    "precision": lambda t: (p := tensor(t, MATRIX), t.distributions.Wishart(t.tensor(3.5), precision_matrix=p)),
    "factor": lambda t: (p := tensor(t, MATRIX), t.distributions.Wishart(4.0, scale_tril=p.tril())),
    "freedoms": lambda t: (
        p := tensor(t, [2.5, 6.0]), t.distributions.Wishart(p, t.tensor(MATRIX, dtype=t.float64)),
    ),
}  # fmt: skip
ASKED = ["mean", "variance", "stddev", "mode", "entropy"]


def values(t: Any, name: str) -> list[Any]:
    """Densities, moments and their gradients; what a family has not is None."""
    p, family = MADE[name](t)
    torch.manual_seed(3)
    made = [family.log_prob(t.tensor(MADE[name](torch)[1].sample((2,)).tolist(), dtype=t.float64))]
    for word in ASKED:
        try:
            got = getattr(family, word)
            made.append(got() if callable(got) else got)
        except NotImplementedError:
            made.append(None)
    if name in ("shares", "odds"):
        places = t.tensor([[-0.5], [0.0], [0.3], [1.0]], dtype=t.float64)
        made += [family.cdf(places.clamp(0, 1)), family.icdf(places.clamp(0, 1))]
        t.manual_seed(3)
        made += [family.sample((2,)), family.rsample((2,))]
    given = [m for m in made if m is not None]
    slopes = []
    for m in given:
        if m.requires_grad:
            (slope,) = t.autograd.grad(m.nan_to_num().sum(), p, retain_graph=True, allow_unused=True)
            slopes.append(slope)
    wide = family.expand((3, *family.batch_shape))
    return [tuple(wide.batch_shape), tuple(wide.event_shape), *made, *slopes]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.filterwarnings("ignore")
def test_family(name: str) -> None:
    want, got = values(torch, name), values(pullback, name)
    assert len(want) == len(got)
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        if b is None or isinstance(b, tuple):
            assert a is None if b is None else a == b
            continue
        a, b = (np.asarray(x.detach().numpy()) for x in (a, b))
        np.testing.assert_allclose(a, b, 1e-6, 1e-9, err_msg=f"{name}, value {k}")


BAD = {
    "both": lambda t: t.distributions.ContinuousBernoulli(0.5, 0.5),
    "outside": lambda t: t.distributions.ContinuousBernoulli(t.tensor(1.5), validate_args=True),
    "one row": lambda t: t.distributions.LKJCholesky(1),
    "no matrix": lambda t: t.distributions.Wishart(3.0),
    "few freedoms": lambda t: t.distributions.Wishart(1.0, t.eye(3)),
    "a vector": lambda t: t.distributions.Wishart(3.0, t.ones(3)),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name: str) -> None:
    for t in (torch, pullback):
        with pytest.raises((ValueError, AssertionError)):
            BAD[name](t)


def test_draws_of_matrices() -> None:
    """Their means, and the gradient of a draw against differences."""
    D, start = pullback.distributions, tensor(pullback, MATRIX)
    pullback.manual_seed(0)
    drawn = D.Wishart(5.0, start).sample((4000,)).mean(0)
    np.testing.assert_allclose(drawn.numpy(), 5 * np.array(MATRIX), atol=0.35)
    factors = D.LKJCholesky(3, 2.0).sample((4000,))
    assert D.constraints.corr_cholesky.check(factors).all()
    squares = (factors @ factors.mT)[:, 1, 0] ** 2
    assert float(squares.mean()) == pytest.approx(1 / (2 * 2.0 + 3 - 1), rel=0.1)  # of a symmetric beta distribution

    def draw(matrix: Any) -> Any:
        pullback.manual_seed(1)
        return D.Wishart(5.0, scale_tril=matrix.tril()).rsample().sum()

    (slope,) = pullback.autograd.grad(draw(start), start)
    step = pullback.zeros(3, 3, dtype=pullback.float64)
    step[1, 0] = 1e-6
    with pullback.no_grad():
        wanted = (draw(start + step) - draw(start - step)).item() / 2e-6
    assert slope[1, 0].item() == pytest.approx(wanted, rel=1e-6)
