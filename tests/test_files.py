"""Tensors in files: what was saved comes back, and no file can do harm."""

import builtins
import io
import json
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as torch
from pullback import nn


class Safe(io.BytesIO):
    """A file of the other format, by its name."""

    name = "x.safetensors"


KINDS = [io.BytesIO, Safe]


def through(value: Any, kind: Any = io.BytesIO) -> Any:
    file = kind()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        x, y = a.detach().numpy(), b.detach().numpy()
        return type(a) is type(b) and a.requires_grad == b.requires_grad and x.dtype == y.dtype and _equal(x, y)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def _equal(x: Any, y: Any) -> bool:
    return x.shape == y.shape and x.tobytes() == y.tobytes()


# ---- what comes back


VALUES: list[Any] = [
    None,
    True,
    -3,
    2**70,
    1.5,
    float("inf"),
    float("nan"),
    "text with \ud800 and \0 and \n",
    [],
    {},
    (),
    [1, [2.5, (None, "a")], {"b": ()}],
    {1: "int", 2.5: "float", None: "none", False: "bool", "1": "str"},
    OrderedDict([("z", 1), ("a", 2)]),
    Counter({3: 2, 5: 1}),
    torch.Size([2, 3]),
    torch.float64,
    torch.device("cpu"),
    torch.tensor(1.5),
    torch.tensor([], dtype=torch.int64),
    torch.zeros(0, 3),
    torch.tensor([True, False]),
    torch.arange(6, dtype=torch.int32).reshape(2, 3).t(),
    torch.tensor([1.0, float("nan"), -0.0], dtype=torch.float64),
    torch.ones(2, requires_grad=True),
    nn.Parameter(torch.ones(2)),
    nn.Parameter(torch.ones(2), requires_grad=False),
    {"__metadata__": torch.ones(1), "": torch.zeros(1), "a.b": torch.ones(2), "a": {"b": torch.zeros(2)}},
    {"../../etc/passwd": torch.ones(1), "/tmp/x": torch.ones(1), "\0": torch.ones(1), "\ud800": torch.ones(1)},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_it_comes_back(value: Any, kind: Any) -> None:
    assert same(value, through(value, kind))
    assert same([value, value], through([value, value], kind))


@pytest.mark.parametrize(
    "value",
    [
        b"bytes \xff", bytearray(b"\xfe"), {1, "a"}, 1 - 2j, {(1, "a"): 2}, torch.strided, torch.bfloat16,
        torch.tensor([1 + 2j]), torch.tensor([1 - 2j], dtype=torch.complex128), {torch.float32: 1}.popitem(),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_more_comes_back_in_the_format_of_torch(value: Any) -> None:
    assert same(value, through(value))


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.integers(0, 3).map(torch.ones),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(-(2**63), 2**63), inner) | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(trees)
def test_any_tree_comes_back(value: Any) -> None:
    assert same(value, through(value))
    assert same(value, through(value, Safe))


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_is_written_once(kind: Any) -> None:
    x = torch.ones(1000)
    file = kind()
    torch.save([x, {"again": x}], file)
    assert len(file.getvalue()) < 5600
    file.seek(0)
    first, second = torch.load(file)
    assert first is second["again"]


def test_a_loaded_tensor_is_its_own() -> None:
    x = torch.ones(3)
    y = through(x)
    y[0] = 5.0
    y.numpy()[1] = 7.0
    assert x.tolist() == [1, 1, 1] and y.tolist() == [5, 7, 1]
    z = through(torch.ones(3)).requires_grad_()
    (z * 2).sum().backward()
    assert z.grad.tolist() == [2, 2, 2]


def test_models_and_optimisers(tmp_path: Path) -> None:
    def made(seed: int) -> tuple[Any, Any, Any]:
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, amsgrad=True)
        return model, optimizer, torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 2, 5])

    def train(model: Any, optimizer: Any, scheduler: Any) -> list[float]:
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = (model(torch.ones(2, 3)) ** 2).mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return losses

    first, second = made(0), made(1)
    train(*first)
    torch.save({"parts": [part.state_dict() for part in first], "epoch": 3}, tmp_path / "state.safetensors")
    kept = torch.load(str(tmp_path / "state.safetensors"), map_location="cpu")
    assert kept["epoch"] == 3
    for part, state in zip(second, kept["parts"], strict=True):
        part.load_state_dict(state)
    assert train(*first) == pytest.approx(train(*second), rel=1e-5)  # one may run op by op, the other compiled


def test_other_programs_read_and_write_it(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    torch.save(model.state_dict(), tmp_path / "ours.safetensors")
    arrays = safetensors.numpy.load_file(tmp_path / "ours.safetensors")
    assert {k: v.tolist() for k, v in arrays.items()} == {k: v.tolist() for k, v in model.state_dict().items()}
    safetensors.numpy.save_file({"x": np.arange(3), "y": np.ones((2, 2), np.float32)}, tmp_path / "theirs")
    found = torch.load(tmp_path / "theirs")
    assert found["x"].tolist() == [0, 1, 2] and found["y"].dtype == torch.float32


# ---- what cannot be saved


class Named(tuple):
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (nn.Linear(1, 1), "save its state_dict"),
        ({"model": [nn.Linear(1, 1)]}, "at model.0"),
        ({"a": np.array(["b"])}, "from_numpy"),
        (np.datetime64("2020-01-01"), "item"),
        (lambda: 0, "function"),
        (Named(), "Named"),
        (defaultdict(int), "defaultdict"),
        ({b"key": 1}, "bytes"),
    ],
)
def test_other_objects_are_refused(value: Any, words: str, tmp_path: Path) -> None:
    for name in ("x", "x.safetensors"):
        with pytest.raises(TypeError, match=words):
            torch.save(value, tmp_path / name)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("value", "words"), [({(1, 2): 3}, "tuple"), (b"x", "bytes"), ({1}, "set"), (1j, "complex")])
def test_what_safetensors_cannot_hold(value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        torch.save(value, Safe())


@pytest.mark.parametrize("value", [2**4000, {2**64: 1}])
def test_numbers_that_torch_cannot_read(value: Any) -> None:
    with pytest.raises(TypeError, match="bits"):
        torch.save(value, io.BytesIO())


def test_endless_data_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="100 levels"):
        torch.save(loop, Safe())
    again = through(loop)  # a pickle can say it
    assert again[0] is again
    for _ in range(101):
        loop = [loop]
    with pytest.raises(ValueError, match="100 levels"):
        torch.save(loop, io.BytesIO())


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)
    with pytest.raises(EOFError, match="empty"):
        torch.load(io.BytesIO())
    with pytest.raises(AttributeError, match="int"):
        torch.load(3)
    with pytest.raises(AttributeError, match="int"):
        torch.save(1, 3)
    with pytest.raises(RuntimeError, match="cuda"):
        torch.load(io.BytesIO(b"x"), map_location="cuda")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("safetensors"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'pullback\[files\]'"):
        torch.save(1, Safe())
    assert through([1, torch.ones(2)])[1].tolist() == [1, 1]


# ---- what must not be read


def file_of(header: Any, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def part(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def structured(text: Any) -> bytes:
    structure = text if isinstance(text, str) else json.dumps(text)
    return file_of({"__metadata__": {"pullback": structure}, "x": part()}, bytes(4))


class Trap:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("trap"),)


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as kept:
        kept.writestr("archive/data.pkl", pickle.dumps(Trap()))
    return file.getvalue()


HOSTILE: dict[str, bytes] = {
    "a pickle": pickle.dumps(Trap(), 2),
    "a newer pickle": pickle.dumps(Trap(), 4),
    "the oldest pickle": pickle.dumps(Trap(), 0),
    "an archive of torch.save": archive(),
    "text": b"not a file of tensors",
    "one byte": b"\1",
    "a huge header": file_of({}, size=2**62),
    "the hugest header": file_of({}, size=2**64 - 1),
    "a header of a gigabyte": file_of({}, size=2**30),
    "no header": file_of(b""),
    "a header that is no JSON": file_of(b"{x"),
    "a header that is a list": file_of([]),
    "a header that is no UTF-8": file_of(b'{"\xff": 1}'),
    "a deep header": file_of(b"[" * 100_000),
    "a deep entry": file_of(b'{"x":' * 50_000 + b"1" + b"}" * 50_000),
    "metadata of numbers": file_of({"__metadata__": {"pullback": 3}}),
    "metadata that is a list": file_of({"__metadata__": []}),
    "truncated data": file_of({"x": part()}, b"123"),
    "more data than tensors": file_of({"x": part()}, bytes(9)),
    "overlapping tensors": file_of({"x": part(), "y": part(offsets=(2, 6))}, bytes(6)),
    "the same bytes twice": file_of({"x": part(), "y": part()}, bytes(4)),
    "a gap": file_of({"x": part(), "y": part(offsets=(8, 12))}, bytes(12)),
    "offsets backwards": file_of({"x": part(offsets=(4, 0))}, bytes(4)),
    "negative offsets": file_of({"x": part(offsets=(-4, 0))}, bytes(4)),
    "huge offsets": file_of({"x": part(offsets=(0, 2**63))}, bytes(4)),
    "one offset": file_of({"x": part(offsets=(0,))}, bytes(4)),
    "a negative size": file_of({"x": part(shape=(-1,))}, bytes(4)),
    "a fractional size": file_of({"x": part(shape=(0.5,))}, bytes(4)),
    "a size that overflows": file_of({"x": part(shape=(2**62, 2**62, 4))}, bytes(4)),
    "an empty tensor of a huge shape": file_of({"x": part(shape=(0, 2**62), offsets=(0, 0))}),
    "shapes of many axes": file_of({"x": part(shape=(1,) * 1000)}, bytes(4)),
    "another shape than its bytes": file_of({"x": part(shape=(3,))}, bytes(4)),
    "an unknown dtype": file_of({"x": part("F99")}, bytes(4)),
    "a dtype that there is none of": file_of({"x": part("F8_E4M3", (4,))}, bytes(4)),
    "a dtype with fewer bytes": file_of({"x": part("I64")}, bytes(4)),
    "no dtype": file_of({"x": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "structure that is no JSON": structured("{"),
    "deep structure": structured("[" * 100_000),
    "structure nested too often": structured('["list",[' * 150 + "]]" * 150),
    "an endless number": structured("9" * 10_000),
    "an unknown part": structured(["object", "os.system", ["true"]]),
    "a global": structured(["global", "builtins", "eval"]),
    "an object": structured({"a": 1}),
    "a part without content": structured(["list"]),
    "a list that is none": structured(["list", "abc"]),
    "pairs that are none": structured(["dict", [["a"]]]),
    "a list as key": structured(["dict", [[["a"], 1]]]),
    "a tensor that is not there": structured(["tensor", "y", 0, False]),
    "a tensor without name": structured(["tensor", 3, 0, False]),
    "a tensor of another kind": structured(["tensor", "x", 7, False]),
    "a kind that is a list": structured(["tensor", "x", [], False]),
    "another device": structured(["device", "cuda"]),
    "a dtype by another name": structured(["dtype", "__class__"]),
    "a dtype that is a list": structured(["dtype", []]),
    "a size of strings": structured(["size", ["a"]]),
    "a count of a list": structured(["counter", [[1]]]),
    "a gradient of whole numbers": file_of(
        {"__metadata__": {"pullback": '["tensor","x",1,true]'}, "x": part("I32")}, bytes(4)
    ),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(data)
    for given_file in (io.BytesIO(data), tmp_path / "file"):
        with pytest.raises(RuntimeError, match="cannot be read: "):
            torch.load(given_file, weights_only=False)
    assert not (tmp_path / "trap").exists()


def test_a_file_longer_than_memory(tmp_path: Path) -> None:
    """A file with holes costs nothing on a disk, and would cost a terabyte to read."""
    for start in (b"", file_of({}), file_of({"x": part()})):
        path = tmp_path / f"file{len(start)}"
        with path.open("wb") as file:
            file.write(start)
            file.truncate(2**40)
        with pytest.raises(RuntimeError, match=r"cannot be read: .* 1,099,511,627,776"):
            torch.load(path)


def test_a_pickle_is_named_so() -> None:
    with pytest.raises(RuntimeError, match=r"torch\.save pickled.*save the state_dict"):
        torch.load(io.BytesIO(archive()))


def test_bools_are_bools() -> None:
    """A byte of 7 would be a bool that is neither true nor false."""
    found = torch.load(io.BytesIO(file_of({"x": part("BOOL", (4,))}, b"\0\1\7\xff")))["x"]
    assert found.numpy().view(np.uint8).tolist() == [0, 1, 1, 1]


def valid(file: io.BytesIO) -> bytes:
    torch.save({"w": torch.arange(6.0).reshape(2, 3), "b": [torch.tensor([True, False]), 3, "x"], "n": None}, file)
    return file.getvalue()


VALID = valid(Safe())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files(data: st.DataObject) -> None:
    """Bytes changed, cut or added: it is read as something, or there is one clear error."""
    content = bytearray(VALID)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, max(0, len(content) - 1)))
        change = data.draw(st.sampled_from(["set", "cut", "insert", "flip"]))
        if change == "set" and content:
            content[where] = data.draw(st.integers(0, 255))
        elif change == "flip" and content:
            content[where] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "cut":
            del content[where : where + data.draw(st.integers(1, 20))]
        else:
            content[where:where] = data.draw(st.binary(max_size=9))
    try:
        torch.load(io.BytesIO(bytes(content)))
    except RuntimeError as error:
        assert "cannot be read" in str(error)
    except EOFError:
        assert not content


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["x", "tensor", "dict", "size"]),
        lambda inner: st.lists(inner, max_size=4)
        | st.tuples(st.sampled_from(["tensor", "dict", "odict", "list", "counter", "dtype"]), inner).map(list),
        max_leaves=10,
    )
)
def test_strange_structures(node: Any) -> None:
    try:
        torch.load(io.BytesIO(structured(node)))
    except RuntimeError as error:
        assert "cannot be read" in str(error)
