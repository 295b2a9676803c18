"""DistributedDataParallel under its older path."""

from pullback.runtime.nn.parallel import DistributedDataParallel as DistributedDataParallel
