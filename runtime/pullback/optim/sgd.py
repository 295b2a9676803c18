"""SGD under its older path."""

from pullback.runtime.optim.sgd import SGD as SGD
