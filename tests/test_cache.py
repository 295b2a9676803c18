"""Code on disk: it is found by later processes, never trusted, never shared, bounded, and left alone on request."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import grad
from pullback.compiler.backend import tiers
from pullback.compiler.backend.disk import cache, private, store
from pullback.compiler.settings import settings

X = np.linspace(-2, 2, 300)


def soft(x):
    return np.sum(np.log1p(np.exp(np.sin(x) - x * x)))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PULLBACK_CACHE", "1")
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*"))


def compiled(x: Any = X):
    """A new function, its gradient, and what its report says."""
    slope: Any = grad(soft)
    result = slope(x)
    (form,) = slope.report().forms
    return slope, result, form


def test_a_second_function_finds_the_code_of_the_first(folder):
    _, first, before = compiled()
    assert "codegen" in before.times and before.cached == () and len(files(folder)) == 1
    slope, second, after = compiled()
    assert after.cached == ("level 0",)
    assert not {"codegen", "emit", "lowering", "passes"} & set(after.times)
    assert second.tobytes() == first.tobytes() == slope(X).tobytes()
    assert "from disk: level 0" in str(slope.report())
    assert slope.ir("llvm").startswith("declare") and "define i64 @kernel.soft_grad(" in slope.ir("llvm")
    assert slope.memory().forms[0].arguments == X.nbytes


def test_better_code_is_kept_and_later_processes_begin_with_it(folder):
    slope, first, _ = compiled()
    for _ in range(slope._latest.kernel.code.calls):
        slope(X)
    assert tiers.settle()
    assert slope.report().forms[0].cached == ()
    kept = files(folder)
    slope, second, form = compiled()
    assert files(folder) == kept  # the entry, too, which stands in a module of its own then
    assert (form.level, form.cached, slope._latest.kernel.code.calls) == (2, ("level 2",), 0)
    assert slope(X).tobytes() == second.tobytes() == first.tobytes()
    with settings.override(level=0):
        slope, third, form = compiled()
    assert form.level == 0 and "level 2" not in form.cached and third.tobytes() == first.tobytes()


def test_what_differs_has_another_place(folder):
    compiled()
    compiled(X[:20])
    compiled(X.astype(np.float32))
    with settings.override(vector_bits=128):
        compiled()
    with settings.override(level=1):
        compiled()
    assert len(files(folder)) == 6  # at level 1 the entry is code of its own


@pytest.mark.parametrize("setting", [{"cache": False}, {"check": "passes"}, {"dump_to": "dumps"}])
def test_nothing_is_read_or_written_when_every_stage_is_wanted_or_by_request(folder, setting, tmp_path):
    if "dump_to" in setting:
        setting = {"dump_to": tmp_path / "dumps"}
    compiled()
    (path,) = files(folder)
    before = path.read_bytes()
    path.write_bytes(b"")
    with settings.override(**setting):
        _, _, form = compiled()
    assert form.cached == () and "codegen" in form.times and path.read_bytes() == b"" != before


def damaged(data: bytes) -> list[bytes]:
    head, _, objects = data.partition(b"\n")
    magic, signature, facts = head.split(b"\t")
    flipped = []
    for at in (0, len(magic) + 3, len(head) - 3, len(head) + 1, len(head) + 100, len(data) - 1):
        flipped.append(bytearray(data))
        flipped[-1][at] ^= 1
    unsigned = json.dumps({"magic": "pullback object 1", "hash": hashlib.sha256(objects).hexdigest(), "facts": {}})
    return [
        b"", b"\n", b"\t\t\n", b"{}\n", b"\xff\xfe\n" + objects, data[:-1], data[: len(data) // 2], data + b"\0", head,
        objects, *map(bytes, flipped), unsigned.encode() + b"\n" + objects,
        b"\t".join([magic, facts]) + b"\n" + objects,
        b"\t".join([magic, signature, facts.replace(b"false", b"true")]) + b"\n" + objects,
        b"\t".join([magic, signature, facts[:-1], facts[-1:]]) + b"\n" + objects,
    ]


def test_damaged_files_are_made_anew(folder):
    _, want, _ = compiled()
    (path,) = files(folder)
    whole = path.read_bytes()
    for data in damaged(whole):
        path.write_bytes(data)
        _, got, form = compiled()
        assert form.cached == () and got.tobytes() == want.tobytes()
        assert path.read_bytes().partition(b"\n")[2] == whole.partition(b"\n")[2]
    assert compiled()[2].cached == ("level 0",)


def test_facts_that_do_not_fit_are_no_facts(folder):
    compiled()
    (path,) = files(folder)
    store.write(path.stem, b"no object", {"long": False})
    assert compiled()[2].cached == ()


def test_folders_and_files_are_private(folder):
    mask = os.umask(0)
    try:
        compiled()
    finally:
        os.umask(mask)
    (path,) = files(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o666)
    assert compiled()[2].cached == ()
    path.parent.chmod(0o777)
    path.unlink()
    compiled()
    assert files(folder) == []


def other(x):
    return np.sum(x * x * x)


def test_one_kernel_under_another_ones_name_is_not_run(folder):
    """Files that change places are whole, but not what was asked for."""
    first, slope = grad(soft), grad(other)
    want, cubes = first(X), slope(X)
    one, two = files(folder)
    swapped = one.read_bytes(), two.read_bytes()
    two.write_bytes(swapped[0])
    one.write_bytes(swapped[1])
    again, slope = grad(soft), grad(other)
    assert again(X).tobytes() == want.tobytes() and slope(X).tobytes() == cubes.tobytes()
    assert all(f.report().forms[0].cached == () for f in (again, slope))
    assert compiled()[2].cached == ("level 0",), "it has been made anew"


def test_files_of_another_folder_are_not_run(folder, tmp_path, monkeypatch):
    compiled()
    (path,) = files(folder)
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "other"))
    compiled(X[:5])
    place = tmp_path / "other" / path.parent.name
    place.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(path, place)
    assert compiled()[2].cached == () and compiled()[2].cached == ("level 0",)


def test_links_and_other_odd_files_are_replaced(folder, tmp_path):
    compiled()
    (path,) = files(folder)
    whole = path.read_bytes()
    elsewhere = tmp_path / "elsewhere.o"
    elsewhere.write_bytes(whole)
    for make in (lambda: path.symlink_to(elsewhere), lambda: path.symlink_to(tmp_path / "no"), lambda: os.mkfifo(path)):
        path.unlink()
        make()
        assert compiled()[2].cached == () and path.is_file() and not path.is_symlink()
        assert compiled()[2].cached == ("level 0",)
    assert elsewhere.read_bytes() == whole
    path.unlink()
    path.mkdir()
    assert compiled()[2].cached == () and path.is_dir()


def test_a_folder_that_others_can_write_to_is_not_used_and_that_is_said_once(folder):
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="for others can write to it: chmod 700 it, or set PULLBACK_CACHE_DIR"):
        compiled()
    assert files(folder) == [] and compiled()[2].cached == ()
    folder.chmod(0o700)
    compiled()
    assert compiled()[2].cached == ("level 0",)
    folder.chmod(0o770)
    assert compiled()[2].cached == ()


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(private.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="for it belongs to another user"):
        compiled()
    assert files(folder) == []


def test_a_secret_that_is_damaged_missing_or_readable_is_made_anew(folder):
    compiled()
    secret = folder / "key"
    first = secret.read_bytes()
    assert secret.stat().st_mode & 0o777 == 0o600 and len(first) == private.LENGTH

    def shorten() -> None:
        secret.write_bytes(b"short")

    def link() -> None:
        secret.unlink()
        secret.symlink_to("/dev/zero")

    for damage in (shorten, secret.unlink, lambda: secret.chmod(0o644), link):
        damage()
        private._secrets.clear()
        assert compiled()[2].cached == () and compiled()[2].cached == ("level 0",)
        assert secret.stat().st_mode & 0o777 == 0o600 and secret.read_bytes() != first


def test_a_folder_that_cannot_be_written_is_no_error(folder, monkeypatch):
    folder.write_text("a file is here")
    _, got, form = compiled()
    assert form.cached == () and np.isfinite(got).all()
    monkeypatch.setenv("PULLBACK_CACHE_DIR", "/proc/nowhere")
    assert compiled()[2].cached == ()


def test_a_full_disk_is_no_error(folder, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    compiled(X[:7])
    monkeypatch.setattr(private.os, "replace", full)
    assert compiled()[2].cached == () and compiled()[2].cached == ()
    assert len(files(folder)) == 1, "nothing is left half-written"


HOMELESS = """
import numpy as np, os, sys
from pullback import grad
print(grad(lambda x: np.sum(x * x))(np.ones(3)).tolist(), os.listdir())
"""


@pytest.mark.parametrize("home", [None, "", "/nonexistent", "/dev/null", "relative"])
def test_without_a_usable_home_it_costs_time_only(home, tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "PULLBACK_CACHE_DIR")}
    env |= {} if home is None else {"HOME": home}
    code = "import os, pwd\npwd.getpwuid = lambda uid: {}[uid]\n" + HOMELESS
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    assert done.stdout == "[2.0, 2.0, 2.0] []\n" and not done.stderr


def test_reading_runs_nothing_that_it_has_read(folder):
    compiled()
    (path,) = files(folder)
    events: list[str] = []
    sys.addaudithook(lambda event, _: events.append(event) if watching else None)
    watching = True
    found = store.read(path.stem)
    watching = False
    assert found is not None and found.objects
    assert set(events) <= {"open", "os.utime"}


def test_half_written_files_go_when_nobody_will_finish_them(folder):
    compiled()
    place = files(folder)[0].parent
    old, new = place / ".newold", place / ".newnew"
    old.write_bytes(b"")
    new.write_bytes(b"")
    os.utime(old, (1, 1))
    store.sweep()
    assert not old.exists() and new.exists()


def test_of_processes_that_write_a_little_one_an_hour_looks_at_the_folder(folder, monkeypatch):
    looks: list[int] = []
    sweep = store.sweep
    monkeypatch.setattr(store, "sweep", lambda: looks.append(1) or sweep())

    def process(writes: int) -> int:
        monkeypatch.setattr(store, "_written", 0)
        looks.clear()
        for k in range(writes):
            store.write(cache.key_of(f"object {k}"), b"")
        return len(looks)

    assert [process(3), process(3), process(store.WRITES_PER_SWEEP)] == [1, 0, 1]
    os.utime(folder / store.SWEPT, (1, 1))
    assert [process(1), process(1)] == [1, 0]


def test_the_oldest_files_go_first(folder):
    keys = [cache.key_of(str(k)) for k in range(10)]
    for k, key in enumerate(keys):
        store.write(key, bytes(10_000))
        os.utime(folder / key[:2] / f"{key}.o", (k, k))
    assert store.read(keys[0]) is not None  # used now
    store.sweep(55_000)
    assert [store.read(key) is not None for key in keys] == [True] + [False] * 5 + [True] * 4


PROGRAM = """
import sys, numpy as np
from pullback import grad
@grad
def soft(x): return np.sum(np.log1p(np.exp(np.sin(x) - x * x)))
print(soft(np.linspace(-2, 2, 300)).tobytes().hex()[:64], soft.report().forms[0].cached)
"""


def test_processes_share_code_also_when_they_start_together(folder):
    def start() -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env={**os.environ})

    outs = []
    for group in (4, 1):
        outs.append([p.communicate(timeout=120)[0].split(" ", 1) for p in [start() for _ in range(group)]])
    assert len({bits for group in outs for bits, _ in group}) == 1
    assert outs[1][0][1].strip() == "('level 0',)"
    assert not list(folder.glob("*/.new*"))


def test_text_is_compiled_once(folder, monkeypatch):
    text = "define i64 @k() nounwind {\n  ret i64 7\n}\n"
    first = cache.kept_object(text)
    monkeypatch.setattr(cache, "compile_object", None)
    assert cache.kept_object(text) == first
    with settings.override(cache=False), pytest.raises(TypeError):
        cache.kept_object(text)
    with pytest.raises(TypeError):
        cache.kept_object(text, 1)


def test_a_process_that_finds_its_code_makes_none_and_loads_nothing_that_does(monkeypatch, tmp_path):
    monkeypatch.setenv("PULLBACK_LEVEL", "0")
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "cache"))
    program = """
import sys, numpy as np
import llvmlite.binding as llvm
parse, parsed = llvm.parse_assembly, []
llvm.parse_assembly = lambda text, **given: parsed.append(text) or parse(text, **given)
from pullback import grad
slope = grad(lambda w, x, b: np.sum(np.tanh(x @ w + b["first"] * b["second"])))
print(slope(np.ones((1000, 60)), np.ones((600, 1000)), {"first": np.ones(60), "second": 2.0}).sum())
makers = ("lowering", "backend.stages", "backend.emit", "gemm.modules", "compiled.report", "loops.reroll")
print([m for m in sys.modules if m.startswith("pullback.") and any(each in m for each in makers)])
print(len(parsed))
"""
    run = [sys.executable, "-c", program]
    outs = [subprocess.run(run, capture_output=True, text=True, timeout=120).stdout.splitlines() for _ in range(2)]
    assert "pullback.compiler.lowering.program" in outs[0][1] and int(outs[0][2]) > 1
    assert outs[1] == [outs[0][0], "[]", "0"]
