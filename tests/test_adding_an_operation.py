"""docs/adding-an-operation.md, run as it stands: one declaration, and what follows from it."""

from pathlib import Path

from tests.test_docs import FENCE, run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "adding-an-operation.md"
BLOCKS = FENCE.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_shows_what_happens(tmp_path):
    code = "\n".join(text for kind, text in BLOCKS if kind == "python")
    (shown,) = [text for kind, text in BLOCKS if kind == "text"]
    (tmp_path / "page.py").write_text(code, encoding="utf-8")
    done = run(["page.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
