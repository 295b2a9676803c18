"""NAdam under its older path."""

from pullback.runtime.optim.by_lists import nadam as nadam
from pullback.runtime.optim.moments import NAdam as NAdam
