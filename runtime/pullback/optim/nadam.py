"""NAdam under its older path."""

from pullback.runtime.optim.moments import NAdam as NAdam
