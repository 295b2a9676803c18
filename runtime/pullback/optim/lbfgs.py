"""LBFGS under its older path."""

from pullback.runtime.optim.lbfgs import LBFGS as LBFGS
