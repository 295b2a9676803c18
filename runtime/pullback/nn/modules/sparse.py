"""Embeddings under their older path."""

from pullback.runtime.nn.embedding import (  # noqa: F401
    Embedding,
    EmbeddingBag,
)
