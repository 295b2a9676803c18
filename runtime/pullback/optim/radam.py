"""RAdam under its older path."""

from pullback.runtime.optim.by_lists import radam as radam
from pullback.runtime.optim.moments import RAdam as RAdam
