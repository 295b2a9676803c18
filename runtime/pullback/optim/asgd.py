"""ASGD under its older path."""

from pullback.runtime.optim.averaged import ASGD as ASGD
