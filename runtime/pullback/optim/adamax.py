"""Adamax under its older path."""

from pullback.runtime.optim.by_lists import adamax as adamax
from pullback.runtime.optim.moments import Adamax as Adamax
