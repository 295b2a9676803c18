"""What pickles of PyTorch's state dicts name: storages, the functions that make tensors of them, dtypes, containers.

A storage and where in it a tensor lies go in, and a tensor comes out that shares memory with all others of the storage.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..nn.parameter import Parameter
from ..tensor.face import queries
from ..tensor.face.tensor import Tensor, sharing
from ..tensor.ops.arranging.creation import finished
from ..tensor.value import dtypes
from ..tensor.value.cells import cell_of
from ..tensor.value.core import Core
from ..tensor.value.devices import placed
from ..tensor.value.dtypes import ALL, DType, Size, device
from ..tensor.value.storage import Storage
from .numpy_values import NAMES
from .pickle_reader import KnownName, check_key
from .structure import Damaged

STORAGES: dict[str, DType] = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
SAVED_AS: dict[str, str] = {d.name: name for name, d in STORAGES.items()}
UNTYPED = ("uint16", "uint32", "uint64")
"""Dtypes without a class of storages: their tensors tell the dtype, and the storage is bytes."""
COPIES = 1 << 27
"""How many bytes views of storages may take, apart from 16 times the file's."""
OBJECTS = (
    "an object that torch.save pickled and loading would execute, which is not done here; with torch, load the file"
    " with weights_only=False if you trust it, and save the state_dict, or a dict of tensors, numbers and strings,"
    " alone"
)
FLOATS = "with torch, save {name: t.float() for name, t in state_dict.items()}"


class FileStorage:
    """A storage of a file: its elements, and the memory of tensors as soon as they share it."""

    __slots__ = ("array", "dtype", "first", "storage", "of_bytes")

    def __init__(self, array: np.ndarray, dtype: DType) -> None:
        self.array, self.dtype = array, dtype
        self.of_bytes: FileStorage | None = None
        self.first: Tensor | None = None
        self.storage: Storage | None = None

    def shared(self) -> Storage:
        if self.storage is None:
            self.storage = Storage(cell_of(self.array)) if self.first is None else self.first._shared()
        return self.storage


class Weights:
    """The tensors of one file, whose size bounds what they may take. `read` gives a storage's elements by its key."""

    def __init__(self, read: Callable[[str, DType, int], np.ndarray], size: int, map_location: Any) -> None:
        self.read, self.map_location = read, map_location
        self.left = COPIES + 16 * size
        self.stored: dict[str, FileStorage] = {}
        self.names: dict[str, Any] = {
            "torch._utils._rebuild_tensor_v2": self.tensor, "torch._utils._rebuild_tensor": self.tensor,
            "torch._utils._rebuild_tensor_v3": self.tensor_of_bytes, "torch._utils._rebuild_parameter": parameter,
            "torch._utils._rebuild_parameter_with_state": parameter, "torch._tensor._rebuild_from_type_v2": typed,
            "torch.Size": size_of, "torch.device": self.located, "torch.serialization._get_layout": layout,
            "collections.OrderedDict": ordered, "collections.Counter": counted, "_codecs.encode": encoded,
        }  # fmt: skip
        self.names |= NAMES
        for module in ("builtins", "__builtin__"):
            self.names |= {f"{module}.set": unordered, f"{module}.bytearray": changeable, f"{module}.complex": number}
            self.names[f"{module}.bytes"] = bytes_of_none

    # ---- names

    def find(self, module: str, name: str) -> Any:
        """What a name of the pickle means here."""
        full = f"{module}.{name}"
        if full in self.names:
            return KnownName(full, self.names[full])
        if full in ("torch.Tensor", "torch.nn.parameter.Parameter"):
            return Tensor if name == "Tensor" else Parameter
        if name in STORAGES and module in ("torch", "torch.cuda", "torch.storage"):
            return STORAGES[name]
        if full == "torch.storage.UntypedStorage":
            return dtypes.uint8
        if module == "torch":
            for known in (*ALL.values(), *STORAGES.values()):
                if known.name == name:
                    return known
            if name.startswith(("uint", "float8", "int", "quint", "qint", "bits")):
                raise Damaged(f"it has elements of dtype torch.{name[:40]}, which there are none of here; {FLOATS}")
        raise Damaged(f"it holds {full[:200]!r}, {OBJECTS}")

    def persistent(self, found: Any) -> FileStorage:
        """The storage that ("storage", dtype, key, location, count) is about, and None in the oldest files."""
        if type(found) is not tuple or len(found) not in (5, 6) or found[0] != "storage":
            raise Damaged(f"it holds a module or another object, {OBJECTS}")
        _, dtype, key, location, count = found[:5]
        if not (isinstance(key, str) and isinstance(location, str) and type(count) is int and count >= 0):
            raise Damaged("it has a storage without key, location and size")
        if found[5:] not in ((), (None,)):
            raise Damaged("it has a storage that is a part of another one; with torch, load it and save it again")
        if not isinstance(dtype, DType):
            raise Damaged("it has a storage of elements of no dtype")
        known = self.stored.get(key)
        if known is None:
            array = self.read(key, dtype, count)
            array = array.view(np.uint8) != 0 if dtype is dtypes.bool_ else array
            known = self.stored[key] = FileStorage(self.moved(array, location), dtype)
        if known.dtype is not dtype or known.array.size < count:
            raise Damaged(f"it has a storage {key[:40]!r} of two kinds")
        return known

    def moved(self, array: np.ndarray, location: str) -> np.ndarray:
        """The elements where `map_location` has them; there is one place."""
        where = self.map_location
        if callable(where):
            tensor = finished(array.copy())  # which the function may keep and write to
            given = where(tensor, location)
            if given is not None:
                if not isinstance(given, Core) or given._array().size != array.size:
                    raise TypeError(
                        f"load(map_location): expected the storage or None of the function, got {type(given).__name__}"
                    )
                return array if given is tensor else np.array(given._array(), array.dtype).reshape(-1)
        elif isinstance(where, dict):
            location = str(where.get(location, location))
        elif where is not None:
            return array
        there(location)
        return array

    def located(self, name: Any, index: Any = None) -> device:
        """A device that the file holds as a value."""
        return there(name) if self.map_location is None or callable(self.map_location) else device("cpu")

    # ---- tensors

    def tensor(
        self, stored: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any = False, hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:  # fmt: skip
        if not isinstance(stored, FileStorage):
            raise Damaged("it has a tensor without a storage")
        shape, strides = size_of(shape), size_of(strides)
        limit = stored.array.size
        if len(shape) != len(strides) or len(shape) > 64 or type(offset) is not int or offset < 0:
            raise Damaged("it has a tensor without shape and strides")
        if prod(shape) and offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) >= limit:
            raise Damaged(f"it has a tensor of shape {shape[:8]} that ends outside of its {limit:,} elements")
        if not prod(shape):
            made = finished(np.empty(shape, stored.array.dtype))
        else:
            made = self.part(stored, shape, path_of(limit, offset, shape, strides))
        made = self.turned(made, metadata)
        if requires_grad:
            if not made._kind_of().is_float:
                raise Damaged(f"it has a tensor of {made.dtype} that requires a gradient")
            made.requires_grad_()
        return made

    def tensor_of_bytes(
        self, stored: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any = False, hooks: Any = None,
        dtype: Any = None, metadata: Any = None,
    ) -> Tensor:  # fmt: skip
        """A tensor of a dtype without a class of storages."""
        if not isinstance(dtype, DType):
            raise Damaged(f"it has elements of a dtype that there is none of here; {FLOATS}")
        if not isinstance(stored, FileStorage) or stored.dtype is not dtypes.uint8 or dtype.name not in UNTYPED:
            raise Damaged(f"it has a tensor of {dtype} that does not lie in bytes")
        if stored.array.size % dtype.itemsize:
            raise Damaged(f"it has {stored.array.size:,} bytes of elements of {dtype}, whose size does not divide that")
        if stored.of_bytes is None:
            stored.of_bytes = FileStorage(stored.array.view(dtype.numpy), dtype)
        if stored.of_bytes.dtype is not dtype:
            raise Damaged("it has a storage of two kinds")
        return self.tensor(stored.of_bytes, offset, shape, strides, requires_grad, hooks, metadata)

    def part(self, stored: FileStorage, shape: tuple[int, ...], path: tuple[Any, ...]) -> Tensor:
        """The tensor to which a path leads from the elements in a row."""
        if path == (("reshape", shape),) and stored.first is None and stored.storage is None:
            stored.first = made = finished(stored.array.reshape(shape))
            return made
        self.left -= prod(shape) * stored.array.itemsize
        if self.left < 0:
            raise Damaged("it has views that repeat their elements so often that they would fill the memory")
        storage = stored.shared()
        whole = storage.shape()
        if path == (("reshape", whole),):
            path = ()
        elif len(whole) != 1 and path[0][0] != "reshape":
            path = (("reshape", (stored.array.size,)), *path)
        return sharing(Tensor, storage, path, False)

    @staticmethod
    def turned(made: Tensor, metadata: Any) -> Tensor:
        """Conjugates and negatives that were not computed when they were saved."""
        for name in metadata or ():
            if name not in ("conj", "neg") or not isinstance(metadata, dict):
                raise Damaged("it has a tensor with a mark that is none of 'conj' and 'neg'")
            if metadata[name]:
                made = finished(np.conj(made._array()) if name == "conj" else -made._array())
        return made


def there(name: Any) -> device:
    """The device of this name."""
    try:
        return placed(name)
    except RuntimeError:
        raise Damaged(
            f"it has tensors of the device {str(name)[:40]!r}, and there is the processor alone; pass"
            " map_location='cpu'"
        ) from None


def path_of(count: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, ...]:
    """The steps from a storage of so many elements to a tensor: views that are as plain as the strides allow."""
    axes = sorted(range(len(shape)), key=lambda a: (-strides[a], -shape[a]))
    size = 1
    for a in reversed(axes):
        if shape[a] != 1 and strides[a] != size:
            return (("strided", shape, strides, offset),)
        size *= shape[a]
    path: tuple[Any, ...] = (("slice", (offset,), (1,), (size,)),) if size != count else ()
    order = [a for a in axes if shape[a] != 1]
    if order == sorted(order):  # in rows
        return path if path and shape == (size,) else (*path, ("reshape", shape))
    places = tuple(axes.index(a) for a in range(len(shape)))
    return (*path, ("reshape", tuple(shape[a] for a in axes)), ("transpose", places))


def size_of(numbers: Any) -> Size:
    if not isinstance(numbers, (tuple, list)) or not all(type(n) is int and 0 <= n < 2**62 for n in numbers):
        raise Damaged("it has a size that is not made of whole numbers")
    return Size(numbers)


def parameter(data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Parameter:
    if not isinstance(data, Tensor) or (requires_grad and not data._kind_of().is_float):
        raise Damaged("it has a parameter that is no tensor of floating point numbers")
    return hung(Parameter(data.detach() if data.requires_grad else data, bool(requires_grad)), state)


def typed(function: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor on which its user hung attributes."""
    if not isinstance(function, KnownName) or kind not in (Tensor, Parameter) or type(args) is not tuple:
        raise Damaged(f"it holds a tensor of a class of its own, {OBJECTS}")
    made = function.make(*args)
    if type(made) is not kind:
        raise Damaged("it has a tensor of another class than it says")
    return hung(made, state)


def hung(made: Any, state: Any) -> Any:
    """The tensor with attributes that its class does not have."""
    if state is not None and not isinstance(state, dict):
        raise Damaged(f"it holds a tensor with attributes of a class of its own, {OBJECTS}")
    for name, value in (state or {}).items():
        if not isinstance(name, str) or hasattr(type(made), name):
            raise Damaged(f"it gives a tensor an attribute {str(name)[:40]!r}")
        made.__dict__[name] = value
    return made


def layout(name: Any) -> Any:
    if name != "torch.strided":
        raise Damaged(f"it has the layout {str(name)[:40]!r}; there is torch.strided")
    return queries.strided


def ordered(*pairs: Any) -> OrderedDict[Any, Any]:
    if pairs:
        raise Damaged("it has an OrderedDict of Python 2; with torch, load it and save it again")
    return OrderedDict()


def counted(counts: Any = ()) -> Counter[Any]:
    if counts and type(counts) is not dict:
        raise Damaged("it has a Counter of something else than a dict")
    made: Counter[Any] = Counter()
    dict.update(made, counts or {})
    return made


def encoded(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise Damaged("it has bytes that are no text in latin1")
    return text.encode("latin1")


def bytes_of_none() -> bytes:
    """As pickles write bytes of which there are none."""
    return b""


def unordered(items: Any) -> set[Any]:
    if not isinstance(items, (list, tuple)):
        raise Damaged("it has a set of something else than a list")
    for item in items:
        check_key(item)
    return set(items)


def changeable(content: Any = b"", encoding: Any = "latin-1") -> bytearray:
    if isinstance(content, str) and encoding == "latin-1":
        content = content.encode("latin-1")
    if not isinstance(content, bytes):
        raise Damaged("it has a bytearray of something else than bytes")
    return bytearray(content)


def number(real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise Damaged("it has a complex number whose parts are no numbers")
    return complex(real, imaginary)
