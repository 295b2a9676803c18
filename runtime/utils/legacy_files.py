"""Files that PyTorch wrote before version 1.6: pickles one after the other go in, the value of the fourth comes out.

The pickles are a mark, a version, facts of the machine, the value, and the keys of the storages, whose elements follow
in that order, each with their number in front.
"""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np

from .pickle_reader import PickleReader
from .structure import Damaged
from .weights import Weights

MARK, VERSION = 0x1950A86A20F9469CFC6C, 1001
OTHERWISE = "with torch, load it with weights_only=False if you trust it, and save its tensors in a dict"


def _nothing(*_: Any) -> Any:
    raise Damaged(f"it is a pickle of other objects; {OTHERWISE}")


def read(data: bytes, map_location: Any) -> Any:
    """The value of such a file. Raises Damaged."""
    if PickleReader(data[:64], _nothing, _nothing).value() != MARK:
        _nothing()
    facts, end = [], 0
    for _ in range(3):
        reader = PickleReader(data, _nothing, _nothing)
        facts.append(reader.value(end))
        end = reader.end
    if facts[1] != VERSION or not isinstance(facts[2], dict):
        raise Damaged("it is of another version of PyTorch's old format; with torch, load it and save it again")
    swapped = bool(facts[2].get("little_endian", True)) != (sys.byteorder == "little")
    places = _places(data, end)

    def stored(key: str, dtype: Any, count: int) -> np.ndarray:
        array = np.frombuffer(data, dtype.numpy, count, places[key])
        return array.byteswap() if swapped else array.copy()

    weights = Weights(stored, len(data), map_location)
    return PickleReader(data, weights.find, weights.persistent).value(end)


def _places(data: bytes, start: int) -> dict[str, int]:
    """Where the elements of each storage begin: reads the value once with zeros, to know how many bytes each takes."""
    left = [len(data)]

    def blank(key: str, dtype: Any, count: int) -> np.ndarray:
        left[0] -= count * dtype.itemsize
        if left[0] < 0:
            raise Damaged(f"its storages claim more bytes than the {len(data):,} that it has")
        return np.zeros(count, dtype.numpy)

    survey = Weights(blank, len(data), "cpu")
    reader = PickleReader(data, survey.find, survey.persistent)
    reader.value(start)
    listing = PickleReader(data, _nothing, _nothing)
    keys, at, places = listing.value(reader.end), listing.end, {}
    for key in keys if isinstance(keys, list) else ():
        if not isinstance(key, str) or key not in survey.stored:
            raise Damaged("it lists a storage that no tensor has")
        array = survey.stored[key].array
        if at + 8 + array.nbytes > len(data) or struct.unpack_from("<q", data, at) != (array.size,):
            raise Damaged(f"its storage {key[:40]!r} is not where its list says")
        places[key], at = at + 8, at + 8 + array.nbytes
    if len(places) != len(survey.stored):
        raise Damaged("it has tensors whose elements are not in it")
    return places
