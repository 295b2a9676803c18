"""Probability distributions: draws with and without a gradient, densities, and the divergences between them.

    policy = distributions.Categorical(logits=model(state))
    action = policy.sample()
    loss = -(policy.log_prob(action) * reward).mean()

Each is a batch of distributions over values of one shape: `batch_shape` comes from the parameters, `event_shape` from
the family. Parameters and values are checked where that is not switched off by `validate_args=False`.
"""

from . import constraints, kl, transforms, utils
from .classes import Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from .composed import Independent, MixtureSameFamily
from .constraint_registry import biject_to, transform_to
from .continuous import Cauchy, Laplace, Normal, StudentT, Uniform
from .correlations import ContinuousBernoulli, LKJCholesky, Wishart
from .crossed import kl_divergence, register_kl  # from there, so that all rules are in the table
from .derived import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    Weibull,
)
from .discrete import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .further import GeneralizedPareto, VonMises
from .gammas import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma
from .multivariate import LowRankMultivariateNormal, MultivariateNormal
from .transformed import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy",
    "Chi2", "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "Dirichlet", "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform",
    "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform",
    "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart",
    "biject_to", "constraints", "identity_transform", "kl", "kl_divergence", "register_kl", "transform_to",
    "transforms", "utils",
]  # fmt: skip
