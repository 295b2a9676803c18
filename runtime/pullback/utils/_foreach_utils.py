"""Lists of tensors by device and dtype; see pullback.runtime.optim.inner."""

from pullback.runtime.optim.inner import group_tensors as _group_tensors_by_device_and_dtype  # noqa: F401
from pullback.runtime.optim.inner import has_foreach as _device_has_foreach_support  # noqa: F401
from pullback.runtime.optim.inner import has_foreach as _has_foreach_support  # noqa: F401
