"""Tensors in files: `save` and `load`, in PyTorch's format and in that of safetensors. Nothing in them is executed."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from ..tensor.value.devices import placed
from . import archives, legacy_files, safetensors_files
from .pickle_reader import PickleReader
from .pickle_writer import PickleWriter
from .structure import Damaged
from .weights import Weights

SAFETENSORS = ".safetensors"


def save(obj: object, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, **_: Any) -> None:
    """Write tensors, numbers, strings, None, and dicts, lists, tuples and sets of these to a path or a binary file.

    NumPy's arrays and numbers are written as what they are; PyTorch reads those with `weights_only=False` alone.

    Names that end in .safetensors get a file of that format (an extra: `pip install 'pullback[files]'`), all others
    the zip file that PyTorch's `torch.load` reads with `weights_only=True`. There, tensors that share memory share it
    again when they are loaded, and a view takes the whole memory along, as in PyTorch. Raises TypeError for anything
    else, a model included: `save(model.state_dict(), f)`. No object is pickled, so `pickle_module` and
    `pickle_protocol` change nothing.

        pullback.save({"model": model.state_dict(), "epoch": 3}, "state.pt")
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(f"save(f): expected a path or a file to write to, got {type(f).__name__}")
    if _name(f).endswith(SAFETENSORS):
        data = safetensors_files.written(obj)
        Path(f).write_bytes(data) if isinstance(f, (str, os.PathLike)) else f.write(data)
        return
    writer = PickleWriter()
    records = [
        ("data.pkl", writer.pickle(obj)), (".format_version", b"1"), (".storage_alignment", b"64"),
        ("byteorder", b"little"), ("version", b"3\n"),
    ]  # fmt: skip
    records += [(f"data/{k}", array) for k, array in enumerate(writer.arrays)]  # type: ignore[misc]
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("wb") as file:
            archives.write(file, records)
    else:
        archives.write(f, records)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = True,
    mmap: bool | None = None,
    **_: Any,
) -> Any:
    """Read what `save` or PyTorch's `torch.save` wrote, or any safetensors file, from a path or a binary file.

    Of pickles, tensors, parameters, numbers, strings, NumPy's arrays and containers are read, the rest is refused:
    `weights_only` is always True here. `map_location` says where tensors of other devices go: a name, a dict of
    names, or a function of a storage, which is a tensor of one axis, and its location; the CPU is all there is. With
    `mmap=True` the file of a path is mapped, so that tensors are read from the disk when they are used, and must not
    be shortened meanwhile.

    Raises RuntimeError for a file that is damaged, of no such format or with other objects, and says what to do;
    EOFError for an empty one.

        state = pullback.load("state.pt", map_location="cpu")
    """
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        placed(map_location)
    named = Path(f) if isinstance(f, (str, os.PathLike)) else None
    if not named and not hasattr(f, "read"):
        raise AttributeError(f"load(f): expected a path or a file to read from, got {type(f).__name__}")
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified: leave it out, no pickle is run here"
        )
    if mmap and not named:
        raise ValueError("f must be a file path in order to use the mmap argument")
    reader: Any = f
    try:
        if named:
            with named.open("rb") as file:
                return _value(file, named, map_location, bool(mmap))
        return _value(io.BytesIO(reader.read()), None, map_location, False)
    except EOFError:
        raise EOFError(f"load: {_name(f)} is empty") from None
    except Damaged as error:
        raise RuntimeError(f"load: {_name(f)} cannot be read: {error}") from None


def _name(f: Any) -> str:
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else str(getattr(f, "name", "the given file"))


def _value(file: Any, path: Path | None, map_location: Any, mapped: bool) -> Any:
    """What a file holds, whose first bytes tell the format."""
    head = file.read(9)
    if not head:
        raise EOFError
    file.seek(0)
    if head[8:] != b"{":  # as the header of a safetensors file begins, after its length, which may be any 8 bytes
        if head.startswith(archives.START):
            return _archived(archives.Archive(file, mapped), map_location)
        if head.startswith(b"\x80"):
            if mapped:
                raise Damaged("a file of PyTorch's old format cannot be mapped; with torch, load it and save it again")
            return legacy_files.read(file.read(), map_location)
    return safetensors_files.read(safetensors_files.contents(path) if path else file.read())


def _archived(archive: archives.Archive, map_location: Any) -> Any:
    if "constants.pkl" in archive:
        raise Damaged("it is a TorchScript archive, which holds a program; with torch, save its state_dict alone")
    swapped = "byteorder" in archive and archive.read("byteorder") != b"little"
    pickle = archive.read("data.pkl")

    def stored(key: str, dtype: Any, count: int) -> Any:
        array = archive.array(f"data/{key}", dtype.numpy, count)
        return array.byteswap() if swapped else array

    weights = Weights(stored, archive.size, map_location)
    return PickleReader(pickle, weights.find, weights.persistent).value()
