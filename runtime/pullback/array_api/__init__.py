"""Tensors by the Python array API standard, 2024.12; see pullback.runtime.array_api."""

from pullback import _array_api as _loaded  # noqa: F401
from pullback.array_api import fft, linalg  # noqa: F401
from pullback.runtime.array_api.arranging import *  # noqa: F403
from pullback.runtime.array_api.creation import *  # noqa: F403
from pullback.runtime.array_api.elements import *  # noqa: F403
from pullback.runtime.array_api.matrices import matmul, matrix_transpose, tensordot, vecdot  # noqa: F401
