"""The page that `fn.explore` writes: one file that asks for nothing, says where everything comes from, and escapes."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, parse
from pullback.compiler.backend import annotated
from pullback.compiler.backend import stages as passed
from pullback.runtime.inspect import stages as shown
from pullback.runtime.inspect.explorer import TEMPLATE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)


def dense(w, x):
    y = x @ w
    z = np.tanh(y)
    return np.sum(z * z)


def loops(x, n):
    k = 0
    while k < n:
        x = np.sin(x) + 0.5
        k = k + 1
    return x


class Page(HTMLParser):
    """The parts of a page: tags with their attributes, and what stands in scripts, by their types."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.title, self.kind, self.inside = "", "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside, self.kind = tag, dict(attrs).get("type") or ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[self.kind] = self.scripts.get(self.kind, "") + data
        if self.inside == "title":
            self.title += data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(zlib.decompress(base64.b64decode(self.scripts["application/octet-stream"])))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    rng = np.random.default_rng(0)
    args = rng.normal(size=(4, 3)), rng.normal(size=4)
    path = grad(dense).explore(tmp_path_factory.mktemp("pages") / "new" / "dense.html", *args)
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_is_one_file_that_asks_for_nothing(page: Page) -> None:
    for tag, attributes in page.tags:
        assert not {"src", "href", "srcset", "action", "onclick"} & set(attributes), tag
        assert tag not in ("link", "iframe", "img", "object", "embed", "base", "form")
    policy = [a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy and "default-src 'none'" in str(policy[0])
    code = page.scripts[""]
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML|eval\(|document\.write|https?:", code)


def test_all_stages_are_in_it_and_every_line_has_a_place(page: Page) -> None:
    data = page.data
    assert [each["key"] for each in data["stages"]] == ["graph", "adjoint", "optimized", "diff", "loops", "llvm", "asm"]
    first = dense.__code__.co_firstlineno
    for stage in data["stages"]:
        assert len(stage["lines"]) == len(stage["at"])
        lines = {data["source"][k]["line"] for k in stage["at"] if k >= 0}
        assert lines and lines <= {first + 1, first + 2, first + 3}, stage["key"]
    shown = {row["line"]: row["text"] for row in data["source"]}
    assert shown[first + 2] == "    z = np.tanh(y)"
    adjoint = data["stages"][1]
    row = next(k for k, line in enumerate(adjoint["lines"]) if " sech2 " in line)
    assert data["source"][adjoint["at"][row]]["line"] == first + 2, "which adjoint operation came from which line"


def test_values_cotangents_costs_and_memory_are_those_of_the_call(page: Page) -> None:
    data, rng = page.data, np.random.default_rng(0)
    w, x = rng.normal(size=(4, 3)), rng.normal(size=4)
    graph = data["stages"][0]
    at = {name: next(k for k, line in enumerate(graph["lines"]) if f" {name} " in line) for name in ("tanh", "sum")}
    want = " ".join(f"{e:.4g}" for e in np.tanh(x @ w))
    assert graph["values"][at["tanh"]] == want
    assert graph["cotangents"][at["tanh"]] == " ".join(f"{e:.4g}" for e in 2 * np.tanh(x @ w))
    assert graph["cotangents"][at["sum"]] == "1"
    assert {"value", "gradient", "flops", "bytes"} <= set(data["costs"][0])
    product = next(c for c in data["costs"] if data["source"][c["row"]]["text"].endswith("y = x @ w"))
    assert product["flops"] == 2 * 2 * 12
    assert data["memory"]["arguments"] == 8 * 16 and data["memory"]["results"] == 8 * 12


def test_the_picture_has_every_operation_and_edges_that_lead_backwards(page: Page) -> None:
    for picture in page.data["pictures"]:
        nodes = picture["nodes"]
        assert all(0 <= i < k for k, node in enumerate(nodes) for i in node[4])
        assert nodes[-1][0] == "result" and {"w", "x"} <= {node[0] for node in nodes}
    names = [node[0] for node in page.data["pictures"][0]["nodes"]]
    assert names == ["w", "x", "contract", "tanh", "mul", "sum", "result"]


def test_names_of_the_users_are_text_and_never_markup(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><!--&\u2028"
    file = tmp_path / "<img src=x onerror=alert(2)>.py"
    file.write_text(f"import numpy as np\ndef f(x):\n    return np.sin(x)  # {hostile}\n", encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), space)
    space["f"].__name__ = hostile
    made = jit(space["f"]).explore(tmp_path / "page.html", 1.0)
    text = made.read_text(encoding="utf-8")
    parsed = Page(text)
    assert [tag for tag, _ in parsed.tags].count("script") == 2 and "img" not in {tag for tag, _ in parsed.tags}
    assert parsed.data["name"] == hostile and any(hostile in row["text"] for row in parsed.data["source"])
    assert "alert(1)</script>" not in text and hostile.split("<!")[0] in parsed.title


def test_loops_are_explored_too(tmp_path: Path) -> None:
    data = Page(grad(loops).explore(tmp_path / "a.html", 0.5, 10).read_text(encoding="utf-8")).data
    graph = data["stages"][0]
    row = next(k for k, line in enumerate(graph["lines"]) if " sin " in line)
    x = 0.5
    for _ in range(9):
        x = np.sin(x) + 0.5
    assert graph["values"][row] == f"{np.sin(x):.6g}", "of the last round"


def test_one_graph_for_many_sizes_is_explored_at_those_of_the_call(tmp_path: Path) -> None:
    slope = grad(lambda x: np.sum(np.sin(x) ** 2))
    for n in (20, 30, 40):
        slope(np.ones(n))
    data = Page(slope.explore(tmp_path / "a.html", np.ones(50)).read_text(encoding="utf-8")).data
    assert "f64[50]" in data["stages"][0]["lines"][0] and any(data["stages"][0]["values"])


def test_the_latest_compilation_is_shown_where_no_arguments_are_given(tmp_path: Path) -> None:
    slope = grad(dense)
    with pytest.raises(ValueError, match=r"has not been compiled yet: call it, or pass .*explore\(path, \.\.\.\)"):
        slope.explore(tmp_path / "a.html")
    slope(np.ones((4, 3)), np.ones(4))
    data = Page(slope.explore(str(tmp_path / "a.html")).read_text(encoding="utf-8")).data
    assert "values" not in data["stages"][0] and data["costs"] and any("no arguments" in note for note in data["notes"])
    assert slope.explore().name == "dense.html", "in a folder of its own"
    parsed = parse(slope.ir("graph"))
    assert "values" in Page(parsed.explore(tmp_path / "b.html").read_text(encoding="utf-8")).data["stages"][0]


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="explore: path is of class ndarray, expected the name of a file"):
        jit(dense).explore(np.ones((4, 3)), np.ones(4))
    with pytest.raises(ValueError, match="explore: path is the folder"):
        jit(dense).explore(tmp_path, np.ones((4, 3)), np.ones(4))


def long_program(folder: Path, lines: int) -> Any:
    """A function of about four operations a line."""
    rows = [f"    a{k} = np.{'sin' if k % 3 else 'exp'}(a{k - 1}) * 0.5 + a{k // 2}" for k in range(1, lines)]
    head, last = ["import numpy as np", "def long(x):", "    a0 = x * 0.5"], f"    return np.sum(a{lines - 1})"
    text = "\n".join([*head, *rows, last, ""])
    file = folder / "long.py"
    file.write_text(text, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), space)
    return space["long"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read JavaScript")
def test_the_script_is_javascript(page: Page, tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(page.scripts[""], encoding="utf-8")
    done = subprocess.run(["node", "--check", tmp_path / "page.js"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run JavaScript")
def test_the_script_makes_what_is_seen_and_unpacks_what_was_packed(tmp_path: Path) -> None:
    function = grad(long_program(tmp_path, 500))
    function(np.ones(20))
    made = function.explore(tmp_path / "long.html")
    assert made.stat().st_size < 1_500_000
    words = ["node", str(Path(__file__).with_name("page_dom.js")), str(made)]
    told = [json.loads(subprocess.check_output([*words, str(width)], timeout=60)) for width in (1800, 500)]
    wide, narrow = told
    data = Page(made.read_text(encoding="utf-8")).data
    assert wide["data"] == narrow["data"] == data and len(data["stages"][1]["lines"]) > 3000
    assert {"source", "graph", "adjoint", "llvm", "picture", "costs"} <= set(wide["opened"]) != set(wide["panes"])
    assert narrow["opened"] == ["source"] and narrow["elements"] < 1000
    assert wide["elements"] < 3000 and wide["all"] < 5000, "rows are made where they are looked at"
    assert wide["after"] > wide["all"] + 300, "those of a table when one asks for them"
    assert min(each["ms"] for each in told) < 1000


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run JavaScript")
def test_blocks_of_every_kind_are_unpacked(tmp_path: Path) -> None:
    rng, cases = np.random.default_rng(0), []
    for size in (0, 1, 300, 70_000):
        for numbers in (rng.integers(0, 256, size), rng.integers(0, 4, size) ** 3, np.zeros(size)):
            for level, strategy in ((0, 0), (1, 0), (9, 0), (6, zlib.Z_FIXED), (6, zlib.Z_HUFFMAN_ONLY)):
                packer = zlib.compressobj(level, strategy=strategy)
                raw = numbers.astype(np.uint8).tobytes()
                cases.append([base64.b64encode(each).decode() for each in (packer.compress(raw) + packer.flush(), raw)])
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    script = TEMPLATE.read_text(encoding="utf-8")
    unpack = script[script.index("function inflated") : script.index("const box = ")]
    ask = """
      for (const pair of JSON.parse(require("fs").readFileSync("cases.json"))) {
        const [packed, raw] = pair.map(text => Buffer.from(text, "base64"));
        process.stdout.write(raw.equals(inflated(packed, new Uint8Array(raw.length))) ? "." : "F");
      }"""
    done = subprocess.check_output(["node", "-e", unpack + ask], cwd=tmp_path, timeout=60, text=True)
    assert done == "." * len(cases)


def test_a_page_makes_each_stage_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slope = grad(dense)
    counts: dict[str, int] = dict.fromkeys(("optimize", "lower", "show_program"), 0)
    slope(np.ones((4, 3)), np.ones(4))
    for name in counts:
        for place in (shown, passed, annotated):
            if hasattr(place, name):
                plain = getattr(place, name)

                def counted(*args: Any, plain: Any = plain, name: str = name, **more: Any) -> Any:
                    counts[name] += 1
                    return plain(*args, **more)

                monkeypatch.setattr(place, name, counted)
    slope.explore(tmp_path / "a.html")
    assert counts["optimize"] <= 2 and counts["lower"] == 1 and counts["show_program"] <= 2, counts


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_opens_two_thousand_operations_within_a_second(tmp_path: Path) -> None:
    made = jit(long_program(tmp_path, 500)).explore(tmp_path / "long.html", np.ones(20))
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}", "--dump-dom"]
    begin = time.perf_counter()
    try:
        done = subprocess.run([str(BROWSER), *words, f"file://{made}"], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("this Chromium prints no pages")
    spent = time.perf_counter() - begin
    ready = re.search(r'data-ready="(\d+)"', done.stdout)
    assert ready is not None, done.stderr[-500:]
    assert int(ready[1]) < 1000, f"{ready[1]} ms, and {spent:.1f} s with the browser"
    assert done.stdout.count('class="row') > 50 and "tanh" not in done.stdout
