"""Sphinx: Markdown through MyST; the reference is written from the package before the build."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from reference_pages import write_pages  # noqa: E402

from msd_host.version import __version__  # noqa: E402

project = "MSD host"
author = "The MSD host authors"
release = version = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_title = f"MSD host {release}"
html_theme_options = {
    "description": "A plugin host for plugins you did not write",
    "fixed_sidebar": True,
    "page_width": "70rem",
    "sidebar_width": "17rem",
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
myst_heading_anchors = 3
nitpicky = True
highlight_language = "none"

write_pages(HERE / "reference")
