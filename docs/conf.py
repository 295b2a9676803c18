"""Settings of the site: pages of MyST and docstrings of the package go in, HTML comes out. Run by `make docs`."""

from typing import Any

import pullback

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


def as_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are laid out as plain text, with tables made by spaces: they are shown as they are written."""
    if lines:
        lines[:] = ["::", "", *(f"    {line}" for line in lines), ""]


def setup(app: Any) -> None:
    """Sphinx calls this first."""
    app.connect("autodoc-process-docstring", as_text)
