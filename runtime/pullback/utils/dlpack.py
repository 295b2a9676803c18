"""Memory shared through DLPack; see pullback.runtime.tensor.exchange."""

from pullback.runtime.tensor.exchange import from_dlpack as from_dlpack
from pullback.runtime.tensor.exchange import to_dlpack as to_dlpack
