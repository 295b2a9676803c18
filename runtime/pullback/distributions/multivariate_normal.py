"""Normal distributions of vectors under their older path."""

from pullback.runtime.distributions.multivariate import MultivariateNormal as MultivariateNormal
