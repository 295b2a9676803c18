"""Files in PyTorch's format: memory stays shared, and hostile or damaged ones give one error or a value, in bounds."""

import gzip
import io
import pickle
import random
import resource
import struct
import time
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.runtime.utils import archives


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def loaded(data: bytes, **more: Any) -> Any:
    return torch.load(io.BytesIO(data), **more)


def archive(stream: bytes, *arrays: Any, more: Any = ()) -> bytes:
    file = io.BytesIO()
    archives.write(file, [("data.pkl", stream), *((f"data/{k}", a) for k, a in enumerate(arrays)), *more])
    return file.getvalue()


def old(stream: bytes, *arrays: Any) -> bytes:
    """A file as it was before version 1.6."""
    facts = (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True})
    keys = pickle.dumps([str(k) for k in range(len(arrays))], 2)
    parts = [struct.pack("<q", len(a) // 4 if len(a) > 8 else len(a)) + bytes(a) for a in arrays]
    return b"".join([*(pickle.dumps(fact, 2) for fact in facts), stream, keys, *parts])


def op(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def ints(*values: int) -> bytes:
    return b"(" + b"".join(b"\x8a\x09" + v.to_bytes(9, "little", signed=True) for v in values) + b"t"


def storage(count: int = 4, kind: str = "FloatStorage", key: str = "0", where: str = "cpu") -> bytes:
    return b"(" + text("storage") + op("torch", kind) + text(key) + text(where) + ints(count)[1:-1] + b"tQ"


def tensor(shape: Any, strides: Any, offset: int = 0, of: bytes = storage(), grad: bytes = b"\x89") -> bytes:
    start = op("torch._utils", "_rebuild_tensor_v2") + b"(" + of + ints(offset)[1:-1]
    return start + ints(*shape) + ints(*strides) + grad + op("collections", "OrderedDict") + b")RtR"


FOUR = np.arange(4, dtype=np.float32)

# ---- what comes back


def test_tensors_that_share_memory_share_it_again() -> None:
    x = torch.arange(12.0)
    views = [x, x[2:5], x.reshape(3, 4), x.reshape(3, 4).t(), x.reshape(3, 4)[:, 1], x.expand(2, 12), x.unfold(0, 3, 2)]
    again = loaded(saved({"views": views}))["views"]
    for a, b in zip(views, again, strict=True):
        assert b.tolist() == a.tolist() and b.stride() == a.stride() and b.storage_offset() == a.storage_offset()
    x[4], again[0][4] = 99.0, 99.0
    again[3][0, 0], x[0] = -1.0, -1.0
    assert [v.tolist() for v in again] == [v.tolist() for v in views]


def test_tied_parameters_stay_tied_and_are_trained(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    torch.save({"state": model.state_dict(), "own": [model[0].weight, model[0].weight]}, tmp_path / "x.pt")
    for mmap in (False, True):
        found = torch.load(tmp_path / "x.pt", mmap=mmap)
        assert found["own"][0] is found["own"][1] and type(found["own"][0]) is nn.Parameter
        assert found["state"]["0.weight"].is_set_to(found["state"]["1.weight"])
        assert found["state"]._metadata[""] == {"version": 1}
        w = found["own"][0]
        (w.t() * 2).sum().backward()
        torch.optim.SGD([w], 0.5).step()
        assert torch.allclose(w, model[0].weight - 1.0)
    assert torch.load(tmp_path / "x.pt")["own"][0].tolist() == model[0].weight.tolist()  # a map is not written back


def test_attributes_and_turned_views() -> None:
    x: Any = torch.ones(2)
    p: Any = nn.Parameter(torch.ones(2))
    x.note, p.note = {"a": [1]}, "b"
    y = torch.from_numpy(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    first, second, third = loaded(saved([x, p, y]))
    assert first.note == {"a": [1]} and second.note == "b" and third.tolist() == y.tolist()


def test_files_that_are_streams(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.gz", "wb") as file:
        torch.save([torch.ones(2)], file)
    with gzip.open(tmp_path / "x.gz", "rb") as file:
        assert torch.load(file)[0].tolist() == [1, 1]


def test_equal_values_give_equal_files() -> None:
    assert saved({"a": torch.ones(3), "b": [1, "x"]}) == saved({"a": torch.ones(3), "b": [1, "x"]})


def test_where_tensors_go() -> None:
    gpu = archive(b"\x80\x02" + tensor((4,), (1,), of=storage(where="cuda:0")) + b".", FOUR)
    with pytest.raises(RuntimeError, match=r"cannot be read: .*'cuda:0'.*map_location='cpu'"):
        loaded(gpu)
    seen = []
    for where in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda s, w: seen.append((s.tolist(), w)) or s):
        assert loaded(gpu, map_location=where).tolist() == [0, 1, 2, 3]
    assert seen == [([0, 1, 2, 3], "cuda:0")]
    with pytest.raises(RuntimeError, match="cuda"):
        loaded(gpu, map_location={"cuda:0": "cuda:1"})
    with pytest.raises(ValueError, match="file path"):
        loaded(gpu, mmap=True)


def test_other_programs_files() -> None:
    """Numbers in the other order of bytes, checksums that nobody made, newer pickles."""
    stream = b"\x80\x02" + tensor((2, 2), (2, 1)) + b"."
    big = archive(stream, FOUR.byteswap(), more=[("byteorder", b"big")])
    assert loaded(big).tolist() == [[0, 1], [2, 3]]
    data = bytearray(archive(stream, FOUR))
    for entry in zipfile.ZipFile(io.BytesIO(bytes(data))).infolist():
        data = data.replace(struct.pack("<I", entry.CRC), bytes(4))
    assert loaded(bytes(data)).tolist() == [[0, 1], [2, 3]]
    value = {"a": [1, 2.5, None, True, "x" * 300, (1, 2), -7, 2**80], "s": {1, 2}, "f": frozenset({3}), "b": b"x"}
    for protocol in (2, 3, 4, 5):
        kept = {k: v for k, v in value.items() if protocol > 3 or k == "a"}
        assert loaded(archive(pickle.dumps(kept, protocol))) == kept


# ---- what must not be read

BOMB = b"\x80\x02]q\x00(" + b"h\x00" * 40_000 + b"e"  # a list with itself in it, many times
REFUSED: dict[str, tuple[bytes, str]] = {
    "a function": (op("os", "system") + text("true") + b"\x85R.", "os.system.*weights_only=False"),
    "a builtin": (op("builtins", "eval") + text("1") + b"\x85R.", "eval"),
    "a name in a name": (op("torch._utils", "_rebuild_tensor_v2.__globals__") + b".", "__globals__"),
    "an attribute": (op("collections", "OrderedDict") + b")R}" + text("items") + b"K\x01sb.", "attributes"),
    "a call of a value": (b"K\x01)R.", "calls a value of type int"),
    "an extension": (b"\x82\x01.", "operation"),
    "an instance": (b"(i os\nsystem\n.", "operation"),
    "a memo that is not there": (b"h\x09.", "makes no sense"),
    "no end": (b"K\x01", "no end"),
    "nothing": (b".", "more or less than one value"),
    "a mark too few": (b"K\x01e.", "makes no sense"),
    "a text that is too long": (b"X\xff\xff\xff\x7fabc.", "ends within"),
    "no text": (b"X\x01\0\0\0\xff.", "makes no sense"),
    "a list as key": (b"}]K\x01s.", "key of type list"),
    "a bytearray of a size": (op("builtins", "bytearray") + b"J\xff\xff\xff\x7f\x85R.", "bytearray"),
    "a module": (b"(" + text("module") + text("x") + b"tQ.", "holds a module"),
    "small floats": (op("torch", "float8_e5m2") + b".", "float8"),
    "a dtype of its own": (
        op("torch._utils", "_rebuild_tensor_v3") + b"(" + storage() + b"K\0(K\2t(K\1t\x89N" + op("torch", "uint16")
        + b"tR.", "does not lie in bytes"
    ),
    "a path as key": (storage(key="../../etc/passwd") + b".", "no record"),
    "a storage of another size": (storage(5) + b".", "16 bytes for 5 elements"),
    "a storage of a terabyte": (storage(2**40) + b".", "16 bytes for"),
    "a storage of less than nothing": (storage(-4) + b".", "without key"),
    "a storage of two kinds": (b"(" + storage() + storage(kind="IntStorage") + b"t.", "two kinds"),
    "a tensor outside": (tensor((5,), (1,)) + b".", "outside"),
    "a tensor far outside": (tensor((2,), (2**61,)) + b".", "outside"),
    "an offset outside": (tensor((1,), (1,), 4) + b".", "outside"),
    "an offset backwards": (tensor((1,), (1,), -1) + b".", "without shape"),
    "strides backwards": (tensor((4,), (-1,), 3) + b".", "whole numbers"),
    "a shape backwards": (tensor((-4,), (1,)) + b".", "whole numbers"),
    "too many axes": (tensor((1,) * 65, (1,) * 65) + b".", "without shape"),
    "repeated elements": (tensor((2**20, 2**20), (0, 0)) + b".", "repeat"),
    "a shape that overflows": (tensor((2**61, 2**61), (0, 0)) + b".", "repeat"),
    "many views": (b"(" + tensor((2**22, 4), (0, 1)) * 99 + b"t.", "repeat"),
    "a gradient of whole numbers": (tensor((4,), (1,), of=storage(kind="IntStorage"), grad=b"\x88") + b".", "gradient"),
    "copies of copies": (
        b"}" + BOMB[2:] + b"(" + (op("torch", "Size") + b"h\x00\x85R") * 99 + b"t.", "whole numbers|again and again"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_pickles(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, words = REFUSED[name]
    data = archive(b"\x80\x02" + stream, FOUR)
    (tmp_path / "file").write_bytes(data)
    for file, mmap in ((io.BytesIO(data), False), (tmp_path / "file", False), (tmp_path / "file", True)):
        with pytest.raises(RuntimeError, match=f"(?s)cannot be read: .*({words})"):
            torch.load(file, mmap=mmap)


def packed(level: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as made:
        made.writestr("archive/data.pkl", bytes(10_000_000))
    return file.getvalue()


def claiming(data: bytes, size: int) -> bytes:
    """The archive whose directory says that its last record has another size."""
    at = data.rindex(b"PK\x01\x02")
    return data[: at + 20] + struct.pack("<II", size, size) + data[at + 28 :]


PLAIN = archive(b"\x80\x02" + tensor((4,), (1,)) + b".", FOUR)
ARCHIVES: dict[str, tuple[bytes, str]] = {
    "no directory": (PLAIN[:200], "no intact zip file"),
    "half of a directory": (PLAIN[:-30], "no intact zip file"),
    "a packed record": (packed(9), "packed"),
    "no pickle": (archive(b"").replace(b"data.pkl", b"data.qkl"), "no record"),
    "two pickles": (archive(b"\x80\x02N.", more=[("b/data.pkl", b"\x80\x02N.")]), "2 records"),
    "a program": (archive(b"\x80\x02N.", more=[("constants.pkl", b"")]), "TorchScript"),
    "a record of 4 GiB": (claiming(PLAIN, 2**32 - 2), "more bytes than|makes no sense"),
    "other bytes": (PLAIN.replace(FOUR.tobytes(), FOUR[::-1].tobytes()), "checksum"),
    "another old pickle": (pickle.dumps({"a": 1}, 2), "pickle of other objects"),
    "an old file that ends": (pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2), "no end"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_refused_archives(name: str) -> None:
    data, words = ARCHIVES[name]
    with pytest.raises(RuntimeError, match=f"cannot be read: .*({words})"):
        loaded(data)


def test_a_deep_pickle_is_read() -> None:
    found = loaded(archive(b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b"."))
    for _ in range(49_999):
        (found,) = found
    assert found == []


@contextmanager
def memory(more: int) -> Iterator[None]:
    """Let the process have so many bytes more than now."""
    with Path("/proc/self/statm").open() as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def changed(data: bytes, draw: random.Random) -> bytes:
    """Bits flipped, bytes set, pieces cut, doubled, moved or put in."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at, end = sorted(draw.randrange(len(made) + 1) for _ in range(2))
        kind = draw.randrange(7)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and at < len(made):
            made[at] = draw.choice(b"(.0RQb}]tue\x81\x85\x86\x87\x88\x89qhrjKMJ\xff\0") if draw.random() < 0.7 else 255
        elif kind == 2:
            del made[at : min(end, at + 20)]
        elif kind == 3:
            made[at:at] = made[at : min(end, at + 40)] * draw.choice((1, 2, 50))
        elif kind == 4 and end < len(made):
            made[at], made[end] = made[end], made[at]
        elif kind == 5:
            made[at : at + 4] = draw.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\0\0\0\x10"))
        elif draw.random() < 0.2:
            del made[at:]
    return bytes(made)


def test_ten_thousand_damaged_files() -> None:
    base = torch.arange(6.0)
    value: Any = OrderedDict(w=base.reshape(2, 3), v=base[1:4], p=nn.Parameter(torch.ones(3)))
    value["b"] = [torch.tensor([True]), {1}]
    value["n"] = {"x": (1, 2.5, None, "text", b"x", 1j), 3: torch.Size([2]), "d": torch.float32}
    whole = saved(value)
    kept = zipfile.ZipFile(io.BytesIO(whole))
    stream, arrays = kept.read("archive/data.pkl"), [kept.read(f"archive/data/{k}") for k in range(3)]
    before = old(stream, *arrays)
    assert loaded(before)["v"].tolist() == [1, 2, 3]
    draw, read, slowest = random.Random(5), 0, 0.0
    with memory(3 << 29):
        for k in range(10_000):
            kind = k % 4
            if kind < 2:
                data = archive(changed(stream, draw), *arrays)
            else:
                data = changed(whole if kind == 2 else before, draw)
            start = time.thread_time()
            try:
                loaded(data)
                read += 1
            except RuntimeError as error:
                assert "cannot be read: " in str(error), error
            except EOFError:
                assert not data
            slowest = max(slowest, time.thread_time() - start)
    assert 100 < read < 5000 and slowest < 2.0
