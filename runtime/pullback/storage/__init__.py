"""The memory of tensors; see pullback.runtime.tensor.face.storages."""

from pullback import _storage as _loaded  # noqa: F401
from pullback.runtime.tensor.face.storages import TypedStorage as TypedStorage
from pullback.runtime.tensor.face.storages import UntypedStorage as UntypedStorage
