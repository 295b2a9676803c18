"""The adaptive softmax under its older path."""

from pullback.runtime.nn.layers.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
