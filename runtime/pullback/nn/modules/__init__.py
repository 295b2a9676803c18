"""The modules under their older path."""

from pullback.nn.modules import (  # noqa: F401
    activation,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    flatten,
    instancenorm,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from pullback.runtime.nn import *  # noqa: F403
