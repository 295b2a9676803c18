"""Distributions against SciPy's, their draws by Kolmogorov and Smirnov's test, and their gradients against differences.

What they give beside torch.distributions is in programs/distributions.txt and programs/distribution_transforms.txt.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

import pullback as torch
from pullback.compiler.ops.scipy.draws import slope

S: Any = scipy.stats
D = torch.distributions
N = 4000


def t(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64)


CONTINUOUS = {
    "normal": (D.Normal(t(0.3), t(0.7)), S.norm(0.3, 0.7)),
    "laplace": (D.Laplace(t(0.3), t(0.7)), S.laplace(0.3, 0.7)),
    "cauchy": (D.Cauchy(t(0.3), t(0.7)), S.cauchy(0.3, 0.7)),
    "gumbel": (D.Gumbel(t(0.3), t(0.7)), S.gumbel_r(0.3, 0.7)),
    "uniform": (D.Uniform(t(-1.0), t(3.0)), S.uniform(-1, 4)),
    "exponential": (D.Exponential(t(2.5)), S.expon(scale=0.4)),
    "gamma, small": (D.Gamma(t(0.2), t(3.0)), S.gamma(0.2, scale=1 / 3)),
    "gamma": (D.Gamma(t(4.5), t(3.0)), S.gamma(4.5, scale=1 / 3)),
    "chi2": (D.Chi2(t(3.0)), S.chi2(3)),
    "beta": (D.Beta(t(0.7), t(2.0)), S.beta(0.7, 2)),
    "student": (D.StudentT(t(3.5), t(1.0), t(2.0)), S.t(3.5, 1, 2)),
    "f": (D.FisherSnedecor(t(4.0), t(7.0)), S.f(4, 7)),
    "log normal": (D.LogNormal(t(0.3), t(0.7)), S.lognorm(0.7, scale=math.exp(0.3))),
    "half normal": (D.HalfNormal(t(0.7)), S.halfnorm(scale=0.7)),
    "half cauchy": (D.HalfCauchy(t(0.7)), S.halfcauchy(scale=0.7)),
    "pareto": (D.Pareto(t(1.5), t(3.0)), S.pareto(3, scale=1.5)),
    "inverse gamma": (D.InverseGamma(t(4.5), t(3.0)), S.invgamma(4.5, scale=3)),
    "weibull": (D.Weibull(t(1.5), t(2.5)), S.weibull_min(2.5, scale=1.5)),
}
DISCRETE = {
    "bernoulli": (D.Bernoulli(t(0.3)), S.bernoulli(0.3)),
    "geometric": (D.Geometric(t(0.3)), S.geom(0.3, loc=-1)),
    "binomial": (D.Binomial(7, t(0.3)), S.binom(7, 0.3)),
    "negative binomial": (D.NegativeBinomial(t(2.5), t(0.4)), S.nbinom(2.5, 0.6)),
    "poisson": (D.Poisson(t(3.2)), S.poisson(3.2)),
}
QUANTILES = np.linspace(0.02, 0.98, 9)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_the_law(name: str) -> None:
    ours, law = CONTINUOUS[name]
    torch.manual_seed(4)
    assert S.kstest(ours.sample((N,)).numpy()[:, 0], law.cdf).pvalue > 1e-3
    assert S.kstest(ours.rsample((N,)).detach().numpy()[:, 0], law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_follow_the_law(name: str) -> None:
    ours, law = DISCRETE[name]
    torch.manual_seed(4)
    drawn = ours.sample((N,)).numpy()[:, 0]
    values = np.arange(20)[law.pmf(np.arange(20)) * N > 8]
    counts = np.array([(drawn == v).sum() for v in values])
    expected = law.pmf(values) * N
    rest, expected_rest = N - counts.sum(), N - expected.sum()
    if expected_rest > 1e-6:
        counts, expected = np.append(counts, rest), np.append(expected, expected_rest)
    assert S.chisquare(counts, expected).pvalue > 1e-3
    assert np.allclose(ours.log_prob(t(*values)).numpy(), law.logpmf(values), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_and_moments(name: str) -> None:
    ours, law = CONTINUOUS[name]
    x = law.ppf(QUANTILES)
    assert np.allclose(ours.log_prob(t(*x)).numpy(), law.logpdf(x), rtol=1e-10, atol=1e-10)
    if "cauchy" not in name:
        assert np.allclose(ours.mean.item(), law.mean(), rtol=1e-10)
        assert np.allclose(ours.variance.item(), law.var(), rtol=1e-10)
    for method, want, at in (("cdf", law.cdf(x), x), ("icdf", x, QUANTILES), ("entropy", law.entropy(), None)):
        try:
            made = getattr(ours, method)(*([] if at is None else [t(*at)]))
        except NotImplementedError:
            continue
        assert np.allclose(made.numpy(), want, rtol=1e-9, atol=1e-10), method


def test_every_draw_is_within_the_support() -> None:
    torch.manual_seed(1)
    for ours, _ in (*CONTINUOUS.values(), *DISCRETE.values()):
        assert ours.support.check(ours.sample((N,))).all(), ours


# ---- gradients


def _made(family: Any, *fixed: Any) -> Any:
    return lambda *given: family(*given, *fixed, validate_args=False)


BUILT = {
    "normal": (_made(D.Normal), [t(0.3, -1.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "laplace": (_made(D.Laplace), [t(0.3, -1.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "cauchy": (_made(D.Cauchy), [t(0.3, -1.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "gumbel": (_made(D.Gumbel), [t(0.3, -1.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "student": (_made(D.StudentT), [t(3.3, 5.0), t(0.3, -1.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "exponential": (_made(D.Exponential), [t(0.3, 1.0)], t(0.2, 1.1)),
    "gamma": (_made(D.Gamma), [t(0.3, 4.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "beta": (_made(D.Beta), [t(0.3, 4.0), t(0.7, 2.0)], t(0.2, 0.9)),
    "dirichlet": (_made(D.Dirichlet), [t(0.3, 4.0, 1.5)], t(0.2, 0.5, 0.3)),
    "f": (_made(D.FisherSnedecor), [t(3.0, 4.0), t(0.7, 2.0)], t(0.2, 0.9)),
    "bernoulli": (_made(D.Bernoulli), [t(0.3, 0.9)], t(1.0, 0.0)),
    "binomial": (lambda x: D.Binomial(5, logits=x, validate_args=False), [t(0.0, 0.9)], t(4.0, 0.0)),
    "negative binomial": (_made(D.NegativeBinomial), [t(2.0, 3.5), t(0.3, 0.9)], t(4.0, 0.0)),
    "geometric": (_made(D.Geometric), [t(0.3, 0.9)], t(4.0, 0.0)),
    "poisson": (_made(D.Poisson), [t(0.3, 4.9)], t(4.0, 0.0)),
    "categorical": (_made(D.Categorical), [t(0.3, 0.9, 0.1)], torch.tensor([2, 0])),
    "multivariate": (
        lambda m, s: D.MultivariateNormal(m, s @ s.mT, validate_args=False),
        [t(0.3, 0.9), torch.tensor([[1.0, 0.0], [0.4, 2.0]], dtype=torch.float64)],
        t(4.0, 0.0),
    ),
    "mixture": (
        lambda w, m, s: D.MixtureSameFamily(D.Categorical(logits=w), D.Normal(m, s), validate_args=False),
        [t(0.3, 0.9), t(0.3, 0.9), t(0.3, 2.0)],
        t(4.0, 0.0),
    ),
    "inverse gamma": (_made(D.InverseGamma), [t(0.3, 4.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "log normal": (_made(D.LogNormal), [t(0.3, -1.0), t(0.7, 2.0)], t(0.2, 1.1)),
    "weibull": (_made(D.Weibull), [t(0.3, 1.4), t(0.7, 2.0)], t(0.2, 1.1)),
    "kumaraswamy": (_made(D.Kumaraswamy), [t(0.3, 1.4), t(0.7, 2.0)], t(0.2, 0.7)),
    "relaxed": (lambda x: D.RelaxedBernoulli(t(0.7), logits=x), [t(0.3, -1.4)], t(0.2, 0.7)),
}


@pytest.mark.parametrize("name", BUILT)
def test_gradients_of_densities(name: str) -> None:
    """To second order, and in the value where it is a real number."""
    make, given, at = BUILT[name]
    given = [x.clone().requires_grad_() for x in given]
    f: Any = lambda *p: make(*p).log_prob(at)  # noqa: E731
    assert torch.autograd.gradcheck(f, given) and torch.autograd.gradgradcheck(f, given)
    if make(*given).has_rsample and name != "dirichlet":
        x = at.clone().requires_grad_()
        f = lambda x: make(*given).log_prob(x)  # noqa: E731
        assert torch.autograd.gradcheck(f, (x,)) and torch.autograd.gradgradcheck(f, (x,))


def test_gradients_of_draws_where_steps_are_recorded() -> None:
    c = torch.tensor([1.5, 2.0, 0.7], dtype=torch.float64, requires_grad=True)
    d = torch.distributions
    for drawn in (lambda: d.Gamma(c, torch.ones(3)).rsample(), lambda: d.Dirichlet(c).rsample()):
        for _ in range(4):
            torch.manual_seed(3)
            z = drawn()
            (g,) = torch.autograd.grad((z**2).sum(), c, create_graph=True)
            torch.manual_seed(3)
            assert torch.equal(g, torch.autograd.grad((drawn() ** 2).sum(), c)[0])


@pytest.mark.parametrize("a", [0.3, 2.0, 40.0])
def test_second_derivatives_of_draws_are_those_of_quantiles(a: float) -> None:
    """PyTorch has none; of a draw of two shares, which is beta distributed, in both of the concentrations."""
    c = torch.tensor([a, 1.7], dtype=torch.float64, requires_grad=True)
    torch.manual_seed(5)
    for drawn, of in (
        (torch.distributions.Gamma(c, 1.0).rsample()[0], lambda p, q: S.gamma(p)),
        (torch.distributions.Dirichlet(c).rsample()[0], S.beta),
    ):
        (g,) = torch.autograd.grad(drawn, c, create_graph=True)
        second = np.array([torch.autograd.grad(x, c, retain_graph=True)[0].tolist() for x in g])
        at, x = c.detach().numpy(), float(drawn)
        u, h = of(*at).cdf(x), 1e-3 * a
        quantile = lambda p, q, of=of, u=u: of(p, q).ppf(u)  # noqa: E731
        want = (quantile(a + h, 1.7) - 2 * x + quantile(a - h, 1.7)) / h**2
        np.testing.assert_allclose(second[0, 0], want, rtol=3e-4)
        np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("a", [1e-3, 0.05, 0.7, 1.0, 3.5, 40.0, 900.0, 2900.0, 3100.0, 1e6])
def test_the_slope_of_gamma_draws(a: float) -> None:
    """How far a quantile moves with the concentration, by central differences."""
    u = np.array([0.02, 0.3, 0.5, 0.9, 0.999])
    z, h = S.gamma(a).ppf(u), 1e-4 * max(a, 1.0) if a >= 1 else 1e-4 * a
    want = (S.gamma(a + h).ppf(u) - S.gamma(a - h).ppf(u)) / (2 * h)
    kept = z > 1e-280
    assert np.allclose(slope(np.full(5, a), z)[kept], want[kept], rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "mean_of_squares"),
    [
        (lambda a: D.Gamma(a, 2.0), lambda a: a * (a + 1) / 4),
        (lambda a: D.Beta(a, 2.0), lambda a: a * (a + 1) / ((a + 2) * (a + 3))),
        (lambda a: D.StudentT(2 + 4 * a), lambda a: (2 + 4 * a) / (4 * a)),
        (lambda a: D.FisherSnedecor(2 * a, 30.0), lambda a: (30 / (2 * a)) ** 2 * a * (a + 1) / (14 * 13)),
    ],
    ids=["gamma", "beta", "student", "f"],
)
def test_gradients_of_draws(make: Any, mean_of_squares: Any) -> None:
    """The mean of the gradients of a function of draws is the gradient of its mean, within five standard errors."""
    torch.manual_seed(3)
    a = torch.full((40_000,), 1.7, dtype=torch.float64, requires_grad=True)
    (got,) = torch.autograd.grad((make(a).rsample() ** 2).sum(), a)
    want = (mean_of_squares(1.7 + 1e-5) - mean_of_squares(1.7 - 1e-5)) / 2e-5
    made = got.numpy()
    assert abs(made.mean() - want) < 5 * made.std() / math.sqrt(len(made))


def test_gradients_of_dirichlet_draws() -> None:
    torch.manual_seed(3)
    a = torch.tensor([[0.6, 1.7, 2.5]] * 40_000, dtype=torch.float64, requires_grad=True)
    (got,) = torch.autograd.grad(D.Dirichlet(a).rsample()[:, 0].sum(), a)
    total = 4.8
    want = np.array([total - 0.6, -0.6, -0.6]) / total**2
    made = got.numpy()
    assert np.all(np.abs(made.mean(0) - want) < 5 * made.std(0) / math.sqrt(len(made)))


# ---- divergences


OTHERS = {
    "normal": D.Normal(t(-0.2), t(1.4)), "laplace": D.Laplace(t(0.9), t(1.1)), "gumbel": D.Gumbel(t(-0.5), t(1.5)),
    "exponential": D.Exponential(t(1.1)), "gamma": D.Gamma(t(2.5), t(1.5)), "uniform": D.Uniform(t(-0.5), t(1.5)),
}  # fmt: skip
PAIRS = [
    *itertools.product(["normal", "laplace", "gumbel"], ["normal"]),
    *itertools.product(["exponential", "gamma"], ["exponential", "gamma", "normal", "gumbel"]),
    *itertools.product(["beta"], ["uniform", "gamma", "normal", "exponential"]),
    *itertools.product(["pareto"], ["gamma", "normal", "exponential"]),
    ("laplace", "laplace"), ("gumbel", "gumbel"), ("normal", "gumbel"), ("normal", "laplace"),
]  # fmt: skip


@pytest.mark.parametrize(("p", "q"), PAIRS, ids="-".join)
def test_divergences_by_draws(p: str, q: str) -> None:
    """Within five standard errors of the mean of what they are the mean of."""
    torch.manual_seed(5)
    a, b = CONTINUOUS[p][0], OTHERS[q]
    x = a.sample((40_000,))
    ratios = (a.log_prob(x) - b.log_prob(x)).numpy()
    assert abs(D.kl_divergence(a, b).item() - ratios.mean()) < 5 * ratios.std() / math.sqrt(len(ratios))


def test_an_unknown_divergence_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match="of Cauchy from Normal: see register_kl"):
        D.kl_divergence(CONTINUOUS["cauchy"][0], CONTINUOUS["normal"][0])


def test_a_wrong_parameter_is_named() -> None:
    with pytest.raises(ValueError, match=r"Normal: scale must satisfy the constraint GreaterThan\(lower_bound=0.0\)"):
        D.Normal(0.0, torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="within the support"):
        D.Exponential(1.0).log_prob(torch.tensor(-1.0))


# ---- transforms


E: Any = D.ExpTransform()
VECTORS = {
    "exp": (E, 3), "power": (D.PowerTransform(torch.tensor(2.5)), 3), "sigmoid": (D.SigmoidTransform(), 3),
    "tanh": (D.TanhTransform(), 3), "softplus": (D.SoftplusTransform(), 3),
    "affine": (D.AffineTransform(1.0, -2.5), 3), "vectors": (D.AffineTransform(t(1.0), t(-2.5), event_dim=1), 3),
    "stick breaking": (D.StickBreakingTransform(), 3), "correlations": (D.CorrCholeskyTransform(), 6),
    "composed": (D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.SigmoidTransform()]), 3),
    "inverse": (E.inv, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_determinants_of_transforms(name: str) -> None:
    """Against the Jacobian of the results that are independent: not all of a simplex's or a factor's are."""
    transform, n = VECTORS[name]
    x = torch.linspace(0.3, 1.2, n, dtype=torch.float64)
    y = transform(x)
    assert torch.allclose(transform.inv(y), x)

    def flat(x: Any) -> Any:
        y = transform(x)
        if name == "stick breaking":
            return y[:-1]
        return y[tuple(torch.tril_indices(y.shape[0], y.shape[0], -1))] if name == "correlations" else y

    want = torch.linalg.slogdet(torch.autograd.functional.jacobian(flat, x))[1]
    assert torch.allclose(transform.log_abs_det_jacobian(x, y).sum(), want)


# ---- in training


def test_a_variational_model_learns() -> None:
    """Draws, densities and divergences in recorded steps: the bound rises to the evidence of a normal model."""
    torch.manual_seed(0)
    x = torch.tensor([1.3, 0.4, 2.2, 1.9])
    mean, log_scale = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)
    optimiser = torch.optim.Adam([mean, log_scale], lr=0.02)
    prior = D.Normal(0.0, 2.0)
    for _ in range(600):
        q = D.Normal(mean, log_scale.exp())
        z = q.rsample((16,))
        loss = D.kl_divergence(q, prior) - D.Normal(z, 1.0).log_prob(x[:, None]).sum(0).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    precision = 4 + 1 / 4
    assert abs(mean.item() - 5.8 / precision) < 0.1
    assert abs(log_scale.exp().item() - precision**-0.5) < 0.1


def test_the_least_draw_of_a_gamma_law_is_no_part_of_its_history() -> None:
    torch.manual_seed(0)
    shape = torch.full((400,), 0.004, dtype=torch.float64, requires_grad=True)
    rate = torch.full((400,), 2.0, dtype=torch.float64, requires_grad=True)
    drawn = torch.distributions.Gamma(shape, rate).rsample()
    least = torch.finfo(drawn.dtype).tiny
    assert drawn.grad_fn.name() == "DivBackward0" and drawn.min().item() == least
    drawn.sum().backward()
    at_least = drawn.detach() == least
    assert at_least.any() and (rate.grad[at_least] == -least / 4).any()  # type: ignore[index]
    torch.testing.assert_close(rate.grad, -drawn.detach() / 2, rtol=1e-12, atol=1e-300)
