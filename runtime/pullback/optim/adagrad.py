"""Adagrad under its older path."""

from pullback.runtime.optim.adaptive import Adagrad as Adagrad
from pullback.runtime.optim.by_lists import adagrad as adagrad
