"""Lists of tensors as one, elements and devices; see pullback.runtime.programs.reached."""

from pullback.runtime.programs.inside.settled import device_index as _get_device_index  # noqa: F401
from pullback.runtime.programs.inside.settled import element_size as _element_size  # noqa: F401
from pullback.runtime.programs.inside.settled import get_device_module as _get_device_module  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _get_available_device_type  # noqa: F401
from pullback.runtime.programs.reached import accumulated as _accumulate  # noqa: F401
from pullback.runtime.programs.reached import flattened as _flatten_dense_tensors  # noqa: F401
from pullback.runtime.programs.reached import taken as _take_tensors  # noqa: F401
from pullback.runtime.programs.reached import unflattened as _unflatten_dense_tensors  # noqa: F401
