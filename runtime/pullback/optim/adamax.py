"""Adamax under its older path."""

from pullback.runtime.optim.moments import Adamax as Adamax
