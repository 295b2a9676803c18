"""Networks behind wrappers that share work; see pullback.runtime.nn.parallel."""

from pullback.nn.parallel import data_parallel as _module  # noqa: F401
from pullback.nn.parallel import distributed as distributed
from pullback.runtime.nn.parallel import DataParallel as DataParallel
from pullback.runtime.nn.parallel import DistributedDataParallel as DistributedDataParallel
from pullback.runtime.nn.parallel import data_parallel as data_parallel
from pullback.runtime.programs.refused import parallel as __getattr__  # noqa: F401
