"""Files of state dicts go to PyTorch and back, in its format and its old one."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch

import pullback


def value(t: Any) -> dict[str, Any]:
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3))
    model[0].bias.requires_grad_(False)
    optimizer = t.optim.Adam(model.parameters(), amsgrad=True)
    model(t.ones(4, 2)).sum().backward()
    optimizer.step()
    base = t.arange(12.0)
    return {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "own": list(model.parameters()),
        "views": [
            base, base[2:5], base.view(3, 4), base.view(3, 4).t(), base.view(3, 4)[:, 1], base.expand(2, 12), base[3],
            base.view(3, 4)[1:, :].t(), base.view(2, 3, 2).permute(2, 0, 1), base.view(1, 12, 1)[:, ::5],
        ],
        "part": t.arange(10)[3:6], "empty": t.zeros(0, 3), "scalar": t.tensor(2.5), "grad": t.ones(2).requires_grad_(),
        "dtypes": [
            t.ones(2, dtype=d)
            for d in (t.bool, t.uint8, t.int8, t.int16, t.int32, t.int64, t.float64, t.complex64, t.complex128)
        ],
        "plain": [None, True, -5, 2**70, 1e300, float("inf"), "\u00e4\ud83d", (1, (2,)), [], {}, Counter("abca")],
        "more": [t.Size([2, 3]), t.float32, t.bfloat16, t.device("cpu"), t.strided, b"a\xff", bytearray(b"\xfe"), 1j],
        "set": {1, 2}, 3: "int", 2.5: "float", None: "none", (1, "a"): "tuple", "loop": [1, 2] * 200,
    }  # fmt: skip


def same(a: Any, b: Any, where: str = "") -> None:
    names = [type(x).__name__ for x in (a, b)]
    assert names[0] == names[1] or isinstance(a, OrderedDict) or names[0] in ("dtype", "layout"), where
    if hasattr(a, "requires_grad"):
        facts = [
            (x.requires_grad, str(x.dtype), tuple(x.shape), x.stride(), x.storage_offset(), x.tolist(), x.is_leaf)
            for x in (a, b)
        ]
        assert facts[0] == facts[1], where
    elif isinstance(a, dict):
        assert list(a) == list(b) and getattr(a, "_metadata", None) == getattr(b, "_metadata", None), where
        for k in a:
            same(a[k], b[k], f"{where}.{k}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}.{k}")
    else:
        assert str(a) == str(b), where


def written(t: Any, given: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    t.save(given, file, **options)
    return file.getvalue()


@pytest.mark.parametrize("new", [True, False])
def test_theirs_is_read(new: bool) -> None:
    theirs = value(torch)
    ours = pullback.load(io.BytesIO(written(torch, theirs, _use_new_zipfile_serialization=new)))
    same(theirs, ours)
    theirs["views"][0][4] = ours["views"][0][4] = 99.0
    same(theirs["views"], ours["views"])


def test_ours_is_read(tmp_path: Path) -> None:
    ours = value(pullback)
    theirs = torch.load(io.BytesIO(written(pullback, ours)), weights_only=True)
    same(theirs, ours)
    theirs["views"][0][4] = ours["views"][0][4] = 99.0
    same(theirs["views"], ours["views"])
    pullback.save(ours, tmp_path / "x.pt")
    same(torch.load(tmp_path / "x.pt", mmap=True), pullback.load(tmp_path / "x.pt", mmap=True))


def test_what_theirs_has_beyond_ours() -> None:
    x = torch.ones(2, dtype=torch.complex64).mul(1j)
    same([x.conj().resolve_conj()], pullback.load(io.BytesIO(written(torch, [x.conj()]))))
    x = torch.ones(2)
    x.note = "kept"
    assert pullback.load(io.BytesIO(written(torch, x))).note == "kept"
    for new in (True, False):
        for model in (torch.nn.Linear(2, 2), torch.ones(2).to_sparse(), torch.ones(2).to(torch.float8_e5m2)):
            with pytest.raises(RuntimeError, match=r"cannot be read: .*with torch"):
                pullback.load(io.BytesIO(written(torch, model, _use_new_zipfile_serialization=new)))


def test_without_checksums() -> None:
    torch.serialization.set_crc32_options(False)
    try:
        data = written(torch, {"x": torch.ones(3)})
    finally:
        torch.serialization.set_crc32_options(True)
    assert pullback.load(io.BytesIO(data))["x"].tolist() == [1, 1, 1]


def test_a_generators_state_goes_over() -> None:
    torch.manual_seed(3)
    pullback.set_rng_state(pullback.load(io.BytesIO(written(torch, torch.get_rng_state()))))
    assert pullback.randn(20).tolist() == torch.randn(20).tolist()


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_dtypes_without_a_class_of_storages(name: str, new: bool) -> None:
    x = torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
    got = pullback.load(io.BytesIO(written(torch, [x, x[1], x.T], _use_new_zipfile_serialization=new)))
    assert [each.tolist() for each in got] == [x.tolist(), x[1].tolist(), x.T.tolist()]
    assert str(got[0].dtype) == f"torch.{name}"
    got[0].zero_()
    assert got[1].tolist() == [0, 0, 0]
    y = pullback.tensor(x.numpy())
    back = torch.load(io.BytesIO(written(pullback, [y, y[1]])), weights_only=True)
    assert back[0].dtype == x.dtype and torch.equal(back[0], x)
    back[0].zero_()
    assert back[1].tolist() == [0, 0, 0]
