"""Embeddings under their older path."""

from pullback.runtime.nn.layers.embedding import (  # noqa: F401
    Embedding,
    EmbeddingBag,
)
