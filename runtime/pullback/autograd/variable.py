"""Variable under its older path."""

from pullback.runtime.tensor.reverse.autograd import Variable as Variable
