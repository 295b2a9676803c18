"""Every Python snippet of the pages in docs/ runs and prints what stands below it; --bless writes what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted(
    p for p in DOCS.rglob("*.md") if "```python\n" in p.read_text(encoding="utf-8")
    and p.name != "adding-an-operation.md"  # has a test of its own
)
SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
MARK = "-- end of snippet --"

RUN = f"""
import runpy, sys, traceback
for name in sys.argv[1:]:
    try:
        runpy.run_path(name, run_name="__main__")
    except Exception as error:
        print(f"{{type(error).__name__}}: {{error}}")
        traceback.print_exc()
    print({MARK!r})
"""


def printed(page: Path, snippets: list[str], folder: Path) -> tuple[list[str], str]:
    """What each snippet prints, one after the other in one process, and what came to standard error."""
    names = []
    for k, code in enumerate(snippets, 1):
        names.append(f"snippet{k}.py" if len(snippets) > 1 else "snippet.py")
        (folder / names[-1]).write_text(code, encoding="utf-8")
    env = {k: v for k, v in os.environ.items() if not k.startswith("PULLBACK_")} | {"PULLBACK_CACHE": "0"}
    command = [sys.executable, "-c", RUN, *names]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(MARK + "\n")[:-1], done.stderr


def test_there_are_pages() -> None:
    assert len(PAGES) >= 20


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(DOCS)) for p in PAGES])
def test_snippets(page: Path, tmp_path: Path, bless: bool) -> None:
    text = page.read_text(encoding="utf-8")
    found = SNIPPET.findall(text)
    made, errors = printed(page, [code for code, _ in found], tmp_path)
    if bless:
        outputs = iter(made)
        page.write_text(
            SNIPPET.sub(lambda m: f"```python\n{m[1]}```\n\n```text\n{next(outputs)}```\n", text), encoding="utf-8"
        )
        return
    assert made == [shown for _, shown in found], errors
    raises = [bool(re.match(r"\w+: ", shown)) for shown in made]
    assert all(raises) if page.parent.name == "errors" else not any(raises), errors


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.md")} - {"index"}
    listed = set()
    for p in DOCS.rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", p.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(p.parent.relative_to(DOCS) / name).as_posix() for name in names}
    assert pages == listed
