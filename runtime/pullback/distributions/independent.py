"""Batches taken as events under their older path."""

from pullback.runtime.distributions.composed import Independent as Independent
