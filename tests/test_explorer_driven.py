"""The explorer's page in a real browser: lines that light up, keys, folds, dark mode, small screens, long programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from tests.browser import MISSING, Page, browser
from tests.test_explorer import dense, long_program

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
FIRST = dense.__code__.co_firstlineno
LIT = """
const rows = [...document.querySelectorAll(`[aria-label="${arguments[0]}"] .row`)];
return rows.filter(r => r.classList.contains("on") || r.classList.contains("pin")).map(r => r.textContent);
"""
PLACE = """
const rows = [...document.querySelectorAll(`section[aria-label="${arguments[0]}"] .row`)];
const r = rows.find(r => r.textContent.includes(arguments[1])).getBoundingClientRect();
return [r.left + 30, r.top + r.height / 2];
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("pages") / "dense.html"
    return grad(dense).explore(path, rng.normal(size=(4, 3)), rng.normal(size=4))


@pytest.fixture
def page(written: Path, tmp_path: Path) -> Iterator[Page]:
    with browser(tmp_path / "profile") as page:
        page.open(written)
        yield page
        assert page.errors() == []


def lit(page: Page, pane: str) -> list[str]:
    return page.ask(LIT, pane)


def place(page: Page, pane: str, text: str) -> tuple[float, float]:
    x, y = page.ask(PLACE, pane, text)
    return x, y


def test_hovering_links_lines_in_both_directions(page: Page) -> None:
    page.hover(*place(page, "Python", "z = np.tanh(y)"))
    assert [row.split()[3] for row in lit(page, "Graph")] == ["tanh"]
    assert "sech2" in {row.split()[3] for row in lit(page, "Adjoint")}
    assert lit(page, "LLVM")[0] == f"▾ {FIRST + 2} | z = np.tanh(y)"
    page.hover(*place(page, "Adjoint", "= spread"))
    (row,) = lit(page, "Python")
    assert "return np.sum(z * z)" in row and not any("tanh" in row for row in lit(page, "Graph"))
    page.hover(5, 5)
    assert lit(page, "Python") == lit(page, "Graph") == []


def test_a_click_pins_a_line_until_escape(page: Page) -> None:
    page.click(*place(page, "Graph", "= tanh"))
    page.hover(5, 5)
    assert "tanh" in lit(page, "Graph")[0] and "np.tanh" in lit(page, "Python")[0]
    assert "np.tanh(y)" in page.ask("return document.getElementById('told').textContent")
    page.press("Escape")
    assert lit(page, "Graph") == []


def test_keys_move_pin_find_and_open_panes(page: Page) -> None:
    focused = "return document.activeElement.getAttribute('aria-label')"
    assert page.ask(focused) == "Python"
    page.press("ArrowRight")
    assert page.ask(focused) == "Graph"
    page.press("ArrowDown", "ArrowDown", "ArrowDown")
    assert "tanh" in lit(page, "Graph")[0] and "np.tanh" in lit(page, "Python")[0]
    at = page.ask("return document.activeElement.getAttribute('aria-activedescendant')")
    assert "= tanh" in page.ask("return document.getElementById(arguments[0]).textContent", at)
    page.press("Enter", "ArrowDown", "Escape", "ArrowLeft")
    assert page.ask(focused) == "Python" and lit(page, "Graph") == []
    page.press("/", *"sech2", "Enter")
    assert "sech2" in " ".join(lit(page, "Adjoint")) and "np.tanh" in lit(page, "Python")[0]
    page.press("Escape", "4")
    open_panes = "return [...document.querySelectorAll('section')].filter(s => !s.hidden).map(s => s.ariaLabel)"
    assert "Optimised" in page.ask(open_panes)
    page.press("4")
    assert "Optimised" not in page.ask(open_panes)


def test_lines_of_code_fold_below_their_source(page: Page) -> None:
    shown = "return [...document.querySelectorAll('section[aria-label=LLVM] .row')].map(r => r.textContent)"
    before = page.ask(shown)
    heading = f"{FIRST + 1} | y = x @ w"
    page.click(*place(page, "LLVM", heading))
    after = page.ask(shown)
    at = after.index(f"▸ {heading}")
    assert before[at] == f"▾ {heading}" and before[at + 1].startswith("  %") and "▾" in after[at + 1]
    page.press(" ")
    assert page.ask(shown) == before
    page.ask("document.querySelector('section[aria-label=LLVM] h2 button').click()")
    folded = page.ask(shown)
    assert len([row for row in folded if "▸" in row]) > 2 and not any(" fmul " in row for row in folded)
    page.click(*place(page, "LLVM", "define"))
    page.press("/", *"fmul", "Enter")
    assert any(" fmul " in row for row in page.ask(shown)), "what is found is unfolded"


def contrast(page: Page, pane: str, text: str) -> tuple[float, float]:
    """The brightness of the text of a row, and of what is behind it, from 0 to 1."""
    script = """
      const row = [...document.querySelectorAll(`section[aria-label="${arguments[0]}"] .row`)].find(
        r => r.textContent.includes(arguments[1]));
      const light = c => c.match(/[0-9.]+/g).slice(0, 3).reduce((s, v) => s + v / 765, 0);
      const colours = [row, document.body].map(e => getComputedStyle(e).backgroundColor);
      const behind = colours.find(c => c !== "rgba(0, 0, 0, 0)");
      return [light(getComputedStyle(row).color), light(behind)];"""
    ink, paper = page.ask(script, pane, text)
    return ink, paper


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_readable_in_dark_mode_too(written: Path, tmp_path: Path, dark: bool) -> None:
    with browser(tmp_path / "profile", dark=dark) as page:
        page.open(written)
        page.click(*place(page, "Python", "z = np.tanh(y)"))
        for pane, text in (("Python", "y = x @ w"), ("Python", "z = np.tanh(y)"), ("Graph", "= tanh")):
            ink, paper = contrast(page, pane, text)
            assert abs(ink - paper) > 0.4 and (dark or paper > 0.5) and (not dark or paper < 0.5), (pane, text)


def test_a_small_screen_shows_one_pane_that_fits(written: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile", width=390, height=780) as page:
        page.open(written)
        visible = "return [...document.querySelectorAll('section')].filter(s => !s.hidden).map(s => s.ariaLabel)"
        button = "[...document.querySelectorAll('nav button')].find(b => b.textContent === arguments[0])"
        for name in ("Python", "Graph", "LLVM", "Picture", "Costs", "Memory"):
            page.ask(f"{button}.click()", name)
            assert page.ask(visible) == [name]
            width, body, high, top = page.ask(
                "const r = document.querySelector('section:not([hidden])').getBoundingClientRect();"
                "return [r.width, document.documentElement.scrollWidth, r.height, r.top]")
            assert width <= 390 and body <= 390 and high > 400 and top + high <= 780


def test_two_thousand_operations_open_within_a_second(tmp_path: Path) -> None:
    function: Any = jit(long_program(tmp_path, 500))
    made = function.explore(tmp_path / "long.html", np.ones(20))
    with browser(tmp_path / "profile") as page:
        page.open(made)
        assert page.ask("return D.pictures[0].nodes.length") > 1900
        times = []
        for _ in range(3):
            page.open(made)
            times.append(page.ask("return Number(document.documentElement.dataset.ready)"))
        assert min(times) < 1000, times
        page.press("End")
        assert "return np.sum(a499)" in lit(page, "Python")[0], "the last line is drawn when it is come to"
        assert page.ask("return document.querySelectorAll('.row').length") < 1000
        assert page.errors() == []
