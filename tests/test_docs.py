"""What the README shows is what happens; and every example runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
SNIPPETS = [
    (code, shown)
    for (kind, code), (after, shown) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True)
    if kind == "python" and after == "text"
]


def run(args, folder, **extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PULLBACK_")} | {"PULLBACK_CACHE": "0"} | extra
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def test_every_snippet_has_its_output():
    assert len(SNIPPETS) == sum(kind == "python" for kind, _ in BLOCKS) >= 4


@pytest.mark.parametrize("code, shown", SNIPPETS, ids=[code.splitlines()[0] for code, _ in SNIPPETS])
def test_readme(code, shown, tmp_path):
    (tmp_path / "README.md").write_text(code, encoding="utf-8")
    done = run(["README.md"], tmp_path)
    if "build(" in code and shutil.which("cc") is None:
        assert "C compiler" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "examples").glob("*.py")))
def test_examples_run(name, tmp_path):
    done = run([str(ROOT / "examples" / name)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
