"""Optimisers.  A step is recorded like everything else, so it runs in the same kernel as the gradients."""

from .adam import Adam, AdamW
from .adaptive import Adadelta, Adagrad, RMSprop
from .averaged import ASGD, Rprop
from .factored import Adafactor, Muon
from .lbfgs import LBFGS
from .moments import Adamax, NAdam, RAdam
from .optimizer import Optimizer
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
]
