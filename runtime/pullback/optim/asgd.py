"""ASGD under its older path."""

from pullback.runtime.optim.averaged import ASGD as ASGD
from pullback.runtime.optim.by_lists import asgd as asgd
