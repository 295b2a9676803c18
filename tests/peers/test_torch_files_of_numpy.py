"""Checkpoints with NumPy's arrays and numbers go from either package to the other, and damaged ones are refused."""

import io
import pickle
import pickletools
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import torch

import pullback
from pullback.runtime.utils.numpy_values import NAMES
from pullback.runtime.utils.pickle_reader import KnownName, PickleReader
from pullback.runtime.utils.structure import Damaged

VALUES: dict[str, Any] = {
    "columns": np.arange(6.0).reshape(2, 3).T, "int": np.int64(-3), "single": np.float32(0.5), "truth": np.bool_(True),
    "complex": np.complex64(1 + 2j), "half": np.zeros((0, 2), np.float16), "scalar": np.array(4, np.uint8),
    "swapped": np.arange(3, dtype=">i4"), "truths": np.array([True, False]), "none": np.zeros(0), "one": np.ones(1),
}  # fmt: skip


@pytest.mark.parametrize("writer", [pullback, torch])
@pytest.mark.parametrize("reader", [pullback, torch])
def test_what_is_read_is_what_was_written(writer: Any, reader: Any) -> None:
    file = io.BytesIO()
    writer.save({**VALUES, "state": np.random.RandomState(3).get_state(), "again": VALUES["one"]}, file)
    file.seek(0)
    read = reader.load(file, weights_only=False)
    for name, value in VALUES.items():
        assert type(read[name]) is type(value) and np.array_equal(read[name], value), name
        assert read[name].dtype.newbyteorder("=") == value.dtype.newbyteorder("=") and read[name].shape == value.shape
    assert read["again"] is read["one"]
    read["one"][0] = 3  # it can be written to
    state = np.random.RandomState(0)
    state.set_state(read["state"])
    assert state.rand() == np.random.RandomState(3).rand()


def replaced(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


OBJECTS = np.empty(2, object)
FAULTS = [
    pickle.dumps(OBJECTS, 2), pickle.dumps(np.zeros(2, [("a", "f4")]), 2), pickle.dumps(np.array(["a"]), 2),
    pickle.dumps(np.datetime64("2020-01-01"), 2), pickle.dumps(np.recarray((1,), "f4"), 2),
    replaced(pickle.dumps(np.zeros(2), 2), b"K\x02\x85", b"K\x09\x85"),
    replaced(pickle.dumps(np.zeros(2), 2), b"f8", b"f4"), replaced(pickle.dumps(np.float64(1), 2), b"f8", b"O8"),
]  # fmt: skip


def again_and_again(times: int) -> bytes:
    """A list of a dtype, bytes, and arrays that are all made of these."""
    start = b"\x80\x02](cnumpy\ndtype\n(X\x02\x00\x00\x00u1tRq\x00B" + (2**20).to_bytes(4, "little")
    one = b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR"
    one += b"(K\x01(J\x00\x00\x10\x00th\x00\x89h\x01tb"
    return start + bytes(2**20) + b"q\x01" + one * times + b"e."


@pytest.mark.parametrize("pickled", FAULTS, ids=range(len(FAULTS)))
def test_other_arrays_are_refused(pickled: bytes) -> None:
    pickletools.dis(pickled, io.StringIO())  # they are pickles
    file, changed = io.BytesIO(), io.BytesIO()
    pullback.save(None, file)
    with ZipFile(file) as given, ZipFile(changed, "w") as made:
        for name in given.namelist():
            made.writestr(name, pickled if name.endswith("data.pkl") else given.read(name))
    changed.seek(0)
    with pytest.raises(RuntimeError, match="cannot be read"):
        pullback.load(changed)


@pytest.mark.parametrize("value", [OBJECTS, np.array(["a"]), np.datetime64("2020-01-01")])
def test_what_is_not_written(value: Any) -> None:
    with pytest.raises(TypeError, match="NumPy"):
        pullback.save({"a": value}, io.BytesIO())


@pytest.mark.parametrize(("times", "fits"), [(2, True), (200, False)])
def test_arrays_of_the_same_bytes_are_counted(times: int, fits: bool) -> None:
    def find(module: str, name: str) -> KnownName:
        return KnownName(f"{module}.{name}", NAMES[f"{module}.{name}"])

    reader = PickleReader(again_and_again(times), find, lambda x: x)
    if fits:
        assert [a.nbytes for a in reader.value()[2:]] == [2**20] * times
    else:
        with pytest.raises(Damaged, match="again and again"):
            reader.value()
