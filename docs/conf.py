"""Settings of the site: pages of MyST and docstrings of the package go in, HTML comes out. Run by `make docs`."""

from pathlib import Path
from typing import Any

import pullback
from pullback.compiler.settings import SETTINGS

project = "pullback"
author = "the authors of pullback"
version = release = pullback.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "pullback"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_typehints = "none"
suppress_warnings = ["myst.header"]

HERE = Path(__file__).parent


def settings_page() -> str:
    """The table of every environment variable, from where they are declared."""
    rows = []
    for s in SETTINGS:
        default = f"`{s.default}`" if s.default else ""
        rows.append(f"| `{s.variable}` | {default} | {s.allowed} | {s.meaning} |")
    return "\n".join([
        "# Settings", "",
        "Environment variables, read when they are used. A misspelt one is an error;"
        " `python -m pullback settings` prints what holds now.", "",
        "| variable | default | values | meaning |", "| --- | --- | --- | --- |", *rows, "",
    ])  # fmt: skip


def as_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are laid out as plain text, with tables made by spaces: they are shown as they are written."""
    if lines:
        lines[:] = ["::", "", *(f"    {line}" for line in lines), ""]


def setup(app: Any) -> None:
    """Sphinx calls this first."""
    app.connect("autodoc-process-docstring", as_text)
