"""How Sphinx builds the documentation: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The pages ask the service in this process, with what tests are made with.
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

project = "falcon-placement"
author = "the developers of falcon-placement"
copyright = author
extensions = ["oslo_config.sphinxext", "placement_docs"]
exclude_patterns = ["_build", "_drawings"]
highlight_language = "none"
nitpicky = True

html_theme = "furo"
html_title = "Placement"
html_static_path = ["_static"]
html_css_files = ["placement.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
