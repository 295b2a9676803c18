"""Shuffled channels under their older path."""

from pullback.runtime.nn.layers.pictures import ChannelShuffle as ChannelShuffle
