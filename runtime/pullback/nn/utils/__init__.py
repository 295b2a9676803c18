"""Helpers around networks; see pullback.runtime.nn.clip, vectors, sequences, parametrize and pruning.

Files of PyTorch's whose names functions have come first, so that the functions hold the names.
"""

from pullback.nn.utils import parametrizations, parametrize, prune, rnn, spectral_norm, stateless, weight_norm  # noqa: F401
from pullback.runtime.nn.clip import *  # noqa: F403
from pullback.runtime.nn.fusion import *  # noqa: F403
from pullback.runtime.nn.older_norms import *  # noqa: F403
from pullback.runtime.nn.vectors import *  # noqa: F403
from pullback.runtime.programs.refused import nn_utils as __getattr__  # noqa: F401
