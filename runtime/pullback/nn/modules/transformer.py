"""Transformers under their older path."""

from pullback.runtime.nn.layers.transformer import (  # noqa: F401
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from pullback.runtime.nn.layers.transformer import _activation as _get_activation_fn  # noqa: F401
from pullback.runtime.nn.layers.transformer import _copies as _get_clones  # noqa: F401
from pullback.runtime.programs.reached import subsequent_mask as _generate_square_subsequent_mask  # noqa: F401
