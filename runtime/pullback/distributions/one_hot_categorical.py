"""Distributions of classes as vectors, under their older path."""

from pullback.runtime.distributions.classes import OneHotCategorical as OneHotCategorical
from pullback.runtime.distributions.classes import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
