"""The loader under its older path."""

from pullback.runtime.utils.collate import default_collate, default_convert  # noqa: F401
from pullback.runtime.utils.loader import DataLoader  # noqa: F401
from pullback.runtime.utils.loading import Loading as _BaseDataLoaderIter  # noqa: F401
from pullback.runtime.utils.loading import Loading as _SingleProcessDataLoaderIter  # noqa: F401
from pullback.runtime.utils.loading import LoadingAhead as _MultiProcessingDataLoaderIter  # noqa: F401
from pullback.runtime.utils.workers import get_worker_info  # noqa: F401
