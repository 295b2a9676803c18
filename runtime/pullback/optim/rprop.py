"""Rprop under its older path."""

from pullback.runtime.optim.averaged import Rprop as Rprop
