"""RAdam under its older path."""

from pullback.runtime.optim.moments import RAdam as RAdam
