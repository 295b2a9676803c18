"""Recurrent layers under their older path."""

from pullback.runtime.nn.layers.recurrent import (  # noqa: F401
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    RNNBase,
    RNNCell,
    RNNCellBase,
)
from pullback.runtime.programs.reached import apply_permutation as apply_permutation
