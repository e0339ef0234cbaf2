"""`.. cloud::` draws a cloud file, as `placement-manage draw-cloud` does."""

import hashlib
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from falcon_placement_client.commands.clouds import only
from falcon_placement_client.drawing import draw
from falcon_placement_client.loader import load_file

ROOT = Path(__file__).parents[3]
FOLDER = "_drawings"


class CloudDrawing(SphinxDirective):
    """The trees of a cloud file; its path is relative to the repository."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "only": directives.unchanged,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        path = ROOT / self.arguments[0]
        self.env.note_dependency(str(path))
        names = self.options.get("only", "").split()
        title = self.options.get("alt", "")
        return [picture(self.env.srcdir, path, names, title)]


def picture(folder: Path, path: Path, names: list[str], title: str) -> nodes.image:
    """Write the picture of a cloud file into a folder of the sources, and return its node.

    Args:
        folder: The sources of the documentation.
        path: The cloud file.
        names: Roots to draw; empty for all.
        title: The alternative text.
    """
    cloud = load_file(path)
    if names:
        cloud = only(cloud, names)
    # Examples name providers, also equal ones.
    drawing = draw(cloud, title=title, collapse=False)
    # Pages are read in several processes, so each picture has a unique name.
    name = f"{path.stem}-{hashlib.sha256(drawing.encode()).hexdigest()[:12]}.svg"
    target = Path(folder) / FOLDER / name
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        target.write_text(drawing, encoding="utf-8")
    return nodes.image("", uri=f"/{FOLDER}/{name}", alt=title or f"Providers of {path.name}")


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("cloud", CloudDrawing)
