"""Tensors in the format of safetensors, a library that is an extra of this package: a value goes in, bytes come out.

A file is a header in JSON, checked by the library, and the tensors' bytes: nothing in it can run. What holds the
tensors, dicts, lists and numbers, stands in the header's metadata; a file without that gives a dict of tensors, so
files of other programs can be loaded, and a saved state_dict can be read by any of them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.ir.types import HALVES
from ..tensor.ops.arranging.creation import finished
from .structure import Damaged, Reader, Writer

KEY = "pullback"
LONGEST = 100_000_008
"""Where the library ends a header."""
DTYPES = {
    "BOOL": np.uint8, "U8": np.uint8, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
    "U16": np.uint16, "U32": np.uint32, "U64": np.uint64,
    "F16": np.float16, "F32": np.float32, "F64": np.float64, "C64": np.complex64,
}  # fmt: skip
"""The format's dtypes that NumPy and tensors have, as NumPy reads them."""
if "bf16" in HALVES:
    DTYPES["BF16"] = HALVES["bf16"].type


def _library() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise ImportError("safetensors files need the safetensors package: pip install 'pullback[files]'") from None
    return safetensors


def written(obj: object) -> bytes:
    """The bytes of a file. A tensor that occurs twice is written once; others that share memory are written apart."""
    library, writer = _library(), Writer()
    metadata = {KEY: writer.text(obj)}
    try:
        return library.numpy.save(writer.arrays, metadata)
    except (library.SafetensorError, KeyError) as error:
        raise TypeError(f"save: the format cannot hold one of the tensors ({error})") from error


def contents(path: Path) -> bytes:
    """The file's bytes, if it is as long as its header says: a file may claim more than there is memory for."""
    with path.open("rb") as file:
        size, head = os.fstat(file.fileno()).st_size, file.read(8)
        length = int.from_bytes(head, "little")
        if size and not 8 < 8 + length <= min(size, LONGEST):
            raise Damaged(f"it is no safetensors file (a header of {length:,} bytes in {size:,})")
        header = _header(file.read(length)) if size else {}
        try:
            ends = [part["data_offsets"][1] for name, part in header.items() if name != "__metadata__"]
            end = 8 + length + max(ends, default=0)
        except (TypeError, KeyError, IndexError):
            raise Damaged("its header has an entry that is no tensor's") from None
        if size and end != size:
            raise Damaged(f"its tensors end at byte {end:,} of {size:,}")
        file.seek(0)
        return file.read()


def _header(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"its header is no JSON that can be read ({error})") from None
    if not isinstance(found, dict):
        raise Damaged("its header names no tensors")
    return found


def read(data: bytes) -> Any:
    library = _library()
    try:
        parts = library.deserialize(data)
    except (library.SafetensorError, ValueError, MemoryError, OverflowError) as error:
        raise Damaged(f"it is no intact safetensors file ({error})") from None
    metadata = _header(data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__") or {}
    tensors = {name: _tensor(name, part) for name, part in parts}
    text = metadata.get(KEY)
    return tensors if text is None else Reader(tensors).value(text)


def _tensor(name: str, part: Any) -> Any:
    """A tensor with memory of its own."""
    dtype = DTYPES.get(part["dtype"])
    try:
        if dtype is None:
            raise TypeError("there is no such dtype here")
        array = np.frombuffer(part["data"], dtype).reshape(part["shape"])
        return finished(array != 0 if part["dtype"] == "BOOL" else array.copy())
    except (TypeError, ValueError, KeyError) as error:
        shape = "x".join(map(str, part["shape"]))
        raise Damaged(f"its tensor {name[:80]!r} of {part['dtype']} and shape {shape or '()'}: {error}") from None
