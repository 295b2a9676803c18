"""PyTorch's inner recurrent layers and norms, as copies of its modules call them (`_VF.lstm`)."""

from pullback.runtime.programs.inside.layers import (  # noqa: F401
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
)
