"""SGD under its older path."""

from pullback.runtime.optim.by_lists import sgd as sgd
from pullback.runtime.optim.sgd import SGD as SGD
