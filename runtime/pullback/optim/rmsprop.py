"""RMSprop under its older path."""

from pullback.runtime.optim.adaptive import RMSprop as RMSprop
from pullback.runtime.optim.by_lists import rmsprop as rmsprop
