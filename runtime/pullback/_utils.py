"""Lists of tensors as one; see pullback.runtime.programs.reached."""

from pullback.runtime.programs.reached import accumulated as _accumulate  # noqa: F401
from pullback.runtime.programs.reached import flattened as _flatten_dense_tensors  # noqa: F401
from pullback.runtime.programs.reached import taken as _take_tensors  # noqa: F401
from pullback.runtime.programs.reached import unflattened as _unflatten_dense_tensors  # noqa: F401
