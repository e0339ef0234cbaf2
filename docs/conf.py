"""How Sphinx builds the documentation: `make docs`."""

import sys
from pathlib import Path

from placement import __version__

ROOT = Path(__file__).parents[1]
# Directives call the service in this process, with the helpers of the tests.
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

project = "falcon-placement"
release = __version__
author = "the developers of falcon-placement"
copyright = author
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "oslo_config.sphinxext",
    "placement_docs",
]
exclude_patterns = ["_build", "_drawings"]
highlight_language = "none"
nitpicky = True
# Types in signatures: most of them are classes of other libraries.
nitpick_ignore_regex = [("py:.*", ".*")]
default_role = "code"  # single backticks in docstrings
napoleon_numpy_docstring = False  # sections of docstrings are in Google style
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["placement.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False

# Page, name, description, author, section.
man_pages = [
    ("reference/placement-manage", "placement-manage", "manage a placement service", author, 1),
    ("reference/placement-status", "placement-status", "check a deployment", author, 1),
    ("reference/placement-api", "placement-api", "serve the placement API", author, 8),
]
