"""Normal distributions under their older path."""

from pullback.runtime.distributions.continuous import Normal as Normal
