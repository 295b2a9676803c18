"""DataParallel under its older path."""

from pullback.runtime.nn.parallel import DataParallel as DataParallel
from pullback.runtime.nn.parallel import data_parallel as data_parallel
