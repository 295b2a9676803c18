"""Adagrad under its older path."""

from pullback.runtime.optim.adaptive import Adagrad as Adagrad
