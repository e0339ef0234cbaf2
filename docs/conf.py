"""How Sphinx builds the documentation: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The pages ask the service in this process, with what tests are made with.
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

project = "falcon-placement"
author = "the developers of falcon-placement"
copyright = author
extensions = ["sphinx.ext.autodoc", "oslo_config.sphinxext", "placement_docs"]
exclude_patterns = ["_build", "_drawings"]
highlight_language = "none"
nitpicky = True
# Types in signatures, of which most are those of other libraries.
nitpick_ignore_regex = [("py:.*", ".*")]
default_role = "code"  # what docstrings write between single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "furo"
html_title = "Placement"
html_static_path = ["_static"]
html_css_files = ["placement.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
