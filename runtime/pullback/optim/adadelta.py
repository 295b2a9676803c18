"""Adadelta under its older path."""

from pullback.runtime.optim.adaptive import Adadelta as Adadelta
from pullback.runtime.optim.by_lists import adadelta as adadelta
