"""Rprop under its older path."""

from pullback.runtime.optim.averaged import Rprop as Rprop
from pullback.runtime.optim.by_lists import rprop as rprop
