"""Gradients of convolutions by their shapes; see pullback.runtime.nn.convolution_gradients."""

from pullback.runtime.nn.convolution_gradients import *  # noqa: F403
