"""Shuffled pixels under their older path."""

from pullback.runtime.nn.layers.pictures import PixelShuffle as PixelShuffle
from pullback.runtime.nn.layers.pictures import PixelUnshuffle as PixelUnshuffle
