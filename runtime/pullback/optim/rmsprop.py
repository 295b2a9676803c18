"""RMSprop under its older path."""

from pullback.runtime.optim.adaptive import RMSprop as RMSprop
