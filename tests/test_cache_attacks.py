"""Code on disk under attack: writers that die, files spoilt in 2,000 ways, two users; and the command that shows it."""

import os
import random
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from pullback.__main__ import main
from pullback.compiler.backend.disk import cache, store

OBJECT = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PULLBACK_CACHE", "1")
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def python(script: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


KILLED = """
import os, random, signal, time
from pullback.compiler.backend.disk import cache, store

keys = [cache.key_of(str(k)) for k in range(8)]
content = {key: (bytes([k]) * (50_000 + 7919 * k), {"k": k}) for k, key in enumerate(keys)}
draw, whole = random.Random(4), 0
for _ in range(200):
    child = os.fork()
    if child == 0:
        while True:
            for key, (objects, facts) in content.items():
                store.write(key, objects, facts)
                os.unlink(store._path(store.folder(), key)) if draw.random() < 0.5 else None
    time.sleep(draw.random() * 0.006)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for key, (objects, facts) in content.items():
        found = store.read(key)
        assert found is None or (found.objects, found.facts) == (objects, facts), key
        whole += found is not None
assert store.verify()[1] == 0, "a half-written file stands in the place of a whole one"
for key, (objects, facts) in content.items():
    store.write(key, objects, facts)
    assert store.read(key).objects == objects
print(whole)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no processes to kill like that")
def test_writers_may_die_at_any_moment():
    assert int(python(KILLED)) > 100, "they did not get to write anything"


def spoilt(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """The bytes of a file with something else in them."""
    at, end = sorted((draw.choice((draw.randrange(len(data)), draw.randrange(120))), draw.randrange(len(data))))
    return (
        data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1:],
        data[:at],
        data[at:],
        data[:at] + data[end + 1:],
        data[:at] + draw.randbytes(draw.choice((1, 8, 300))) + data[at:],
        data[:at] + other[at:] + b"x",
        other[:at] + data[at:] + b"x",
        data[:at] + draw.choice((b"\n", b"\t", b"\0", b"{", b"9" * 5000)) + data[at:],
        data + data[at:end + 1],
        bytes(len(data)),
    )[draw.randrange(10)]


def test_files_spoilt_in_two_thousand_ways_are_never_read(folder):
    draw, key, others = random.Random(9), cache.key_of("one"), cache.key_of("two")
    store.write(key, OBJECT, {"long": False})
    store.write(others, OBJECT[::-1], {"long": True})
    path, second = (folder / each[:2] / f"{each}.o" for each in (key, others))
    whole, other = path.read_bytes(), second.read_bytes()
    for number in range(2000):
        data = spoilt(draw, whole, other)
        path.write_bytes(data)
        path.chmod(0o600)
        found = store.read(key)
        assert found is None or data == whole, f"number {number} was read"
        assert found is not None or not path.exists(), "it is taken away"
    store.write(key, OBJECT, {"long": False})
    found = store.read(key)
    assert found is not None and found.objects == OBJECT and path.read_bytes() == whole


TWO_USERS = """
import os, sys, warnings
from pathlib import Path
from pullback.compiler.backend.disk import cache, private, store

def child(user, work):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            private._secrets.clear()
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, work.__name__

shared = Path(sys.argv[1])
shared.chmod(0o1777)
MINE, THEIRS = 41001, 41002
key = cache.key_of("x")

def use(name):
    os.environ["PULLBACK_CACHE_DIR"] = str(shared / name)

def i_keep():
    use("mine")
    store.write(key, b"good")
    assert store.read(key).objects == b"good"

def they_cannot_touch_it():
    use("mine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert store.read(key) is None and store.contents() == [] and store.clear() == 0
        store.write(key, b"evil")
    for attempt in (lambda: os.listdir(shared / "mine"), lambda: (shared / "mine" / "key").read_bytes(),
                    lambda: os.rename(shared / "mine", shared / "gone")):
        try:
            attempt()
        except PermissionError:
            continue
        raise AssertionError("another user got in")

def they_wait_for_me():
    use("trap")
    store.write(key, b"evil")
    for at, _, names in os.walk(shared / "trap"):
        os.chmod(at, 0o777)
        for name in names:
            os.chmod(os.path.join(at, name), 0o644)
    os.symlink(shared / "trap", shared / "link")

def i_do_not_walk_in():
    for name in ("trap", "link"):
        use(name)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert store.read(key) is None
            store.write(key, b"good")
        assert any("belongs to another user" in str(each.message) for each in told), name

def i_leave_a_door_open():
    use("door")
    store.write(key, b"good")
    store._path(shared / "door", key).unlink()
    os.chmod(shared / "door", 0o755)
    os.chmod(store._path(shared / "door", key).parent, 0o777)

def they_put_a_file_there():
    path = store._path(shared / "door", key)
    path.write_bytes(store._path(shared / "trap", key).read_bytes())
    path.chmod(0o644)

def i_do_not_take_it():
    use("door")
    assert store.read(key) is None

def mine_is_whole():
    use("mine")
    assert store.read(key).objects == b"good" and store.verify() == (1, 0)

for user, work in ((MINE, i_keep), (THEIRS, they_cannot_touch_it), (THEIRS, they_wait_for_me), (MINE, i_do_not_walk_in),
                   (MINE, i_leave_a_door_open), (THEIRS, they_put_a_file_there), (MINE, i_do_not_take_it),
                   (MINE, mine_is_whole)):
    child(user, work)
print("well")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be two users")
def test_two_users_cannot_poison_each_other():
    with tempfile.TemporaryDirectory() as shared:  # those of pytest are closed to other users
        assert python(TWO_USERS, shared) == "well\n"


def test_the_command_shows_verifies_and_clears(folder, capsys):
    def said(*words: str) -> str:
        assert main(["cache", *words]) == 0
        return capsys.readouterr().out.strip()

    assert said() == f"{folder}: 0 files, 0 of {store.LIMIT:,} bytes"
    keys = [cache.key_of(str(k)) for k in range(3)]
    for k, key in enumerate(keys):
        store.write(key, OBJECT)
        os.utime(folder / key[:2] / f"{key}.o", (k, k))
    first, *rows = said("show").splitlines()
    assert "3 files" in first and [row.split()[-1] for row in rows] == keys[::-1], "the latest first"
    assert said("verify") == "3 files are whole, 0 are not"
    assert [row.split()[-1] for row in said().splitlines()[1:]] == keys[::-1], "looking is not using"
    (folder / keys[1][:2] / f"{keys[1]}.o").write_bytes(b"else")
    os.link(folder / keys[0][:2] / f"{keys[0]}.o", folder / keys[0][:2] / f"{keys[2]}.o")
    assert said("verify") == "2 files are whole, 2 are not and have been taken away"
    kept = folder / "mine.txt"
    kept.write_text("a file of the user's")
    (folder / keys[0][:2] / ".newhalf").write_bytes(b"half")
    for k in range(30):
        store.write(cache.key_of(f"more {k}"), OBJECT)
    told = said("show").splitlines()
    assert len(told) == 22 and told[-1] == "and 12 that were used before: --all shows them"
    assert len(said("show", "--all").splitlines()) == 33
    assert said("clear").endswith(f"bytes taken away from {folder}") and store.contents() == []
    assert kept.exists() and (folder / "key").exists() and not list(folder.glob("??/*"))
