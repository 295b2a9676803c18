"""Helpers around networks; see pullback.runtime.nn.clip, vectors, sequences and parametrize."""

from pullback.nn.utils import parametrizations, parametrize, rnn, stateless  # noqa: F401
from pullback.runtime.nn.clip import *  # noqa: F403
from pullback.runtime.nn.fusion import *  # noqa: F403
from pullback.runtime.nn.older_norms import *  # noqa: F403
from pullback.runtime.nn.vectors import *  # noqa: F403
from pullback.runtime.programs.refused import nn_utils as __getattr__  # noqa: F401
