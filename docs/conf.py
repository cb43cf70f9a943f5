"""Configuration of the documentation: `make docs` builds it with Sphinx."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

import polysched

sys.path.insert(0, str(Path(__file__).parent))

from command_line import command_line_page

project = "polysched"
author = "the polysched authors"
copyright = "2026, the polysched authors"
version = release = polysched.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# Notes name each other and files of the repository by relative paths, which are not pages here.
suppress_warnings = ["myst.xref_missing", "myst.header", "misc.highlighting_failure"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Loop nests made fast, and proved", "page_width": "1100px"}
html_show_sourcelink = False


def _generated(_: Sphinx, name: str, source: list[str]) -> None:
    """Replace the page of the command line by its own help."""
    if name == "reference/command-line":
        source[0] = command_line_page()


def setup(app: Sphinx) -> None:
    """Connect the generated page."""
    app.connect("source-read", _generated)
