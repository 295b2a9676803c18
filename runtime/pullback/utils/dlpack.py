"""Memory shared through DLPack; see pullback.runtime.tensor.value.exchange."""

from pullback.runtime.tensor.value.exchange import from_dlpack as from_dlpack
from pullback.runtime.tensor.value.exchange import to_dlpack as to_dlpack
