"""Adadelta under its older path."""

from pullback.runtime.optim.adaptive import Adadelta as Adadelta
