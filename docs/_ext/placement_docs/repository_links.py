"""Links and pictures of the repository's own documents, as the pages that include them need them.

README and its kind stay where they are and name each other by file, which is right where a
repository is read. Here such a name becomes a link to the page that includes the file.
"""

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOG = logging.getLogger(__name__)
ROOT = Path(__file__).parents[3]

# Document of the repository -> page that includes it, or says the same.
PAGES = {
    "ADOPTING.rst": "operations/adopting",
    "ARCHITECTURE.rst": "development/architecture",
    "CHANGELOG.rst": "development/changelog",
    "COMPATIBILITY.rst": "reference/compatibility",
    "CONTRIBUTING.rst": "development/contributing",
    "EXPLAINING.rst": "operations/explaining",
    "METRICS.rst": "reference/metrics",
    "README.rst": "index",
    "RESHAPING.rst": "operations/reshaping",
    "SECURITY.rst": "operations/security",
    "bench/README.rst": "development/bench",
    "docs/development/locks.rst": "development/locks",
    "examples/README.rst": "examples",
    "falcon_placement_client": "python",
}


class RepositoryLinks(SphinxTransform):
    """Resolves names of files; warns of those that are no page."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        """Resolve the links and pictures of one page."""
        for reference in list(self.document.findall(nodes.reference)):
            target = str(reference.get("refuri", ""))
            if target and ":" not in target and not target.startswith(("#", "/")):
                self._link(reference, target)
        for image in self.document.findall(nodes.image):
            self._find(image)

    def _link(self, reference: nodes.reference, target: str) -> None:
        document = Path(reference.source or reference.parent.source or ROOT).resolve()
        page = PAGES.get(os.path.relpath(document.parent / target, ROOT))
        if page is None:
            LOG.warning("%s is no page of this documentation", target, location=reference)
            return
        title = reference.astext().removesuffix(".rst")
        link = addnodes.pending_xref(
            "",
            nodes.inline("", title),
            refdomain="std",
            reftype="doc",
            reftarget=f"/{page}",
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=True,
        )
        reference.replace_self(link)

    def _find(self, image: nodes.image) -> None:
        """Say where a picture is from the page, not from the document that is included there."""
        page = Path(self.env.doc2path(self.env.docname))
        document = Path(image.source or page).resolve()
        if document != page and "://" not in image["uri"]:
            image["uri"] = os.path.relpath(document.parent / image["uri"], page.parent)


class Dashes(SphinxTransform):
    """Keeps the `-` of a table's cell, which reads as a list of nothing."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        """Make cells of one empty item a dash."""
        for cell in self.document.findall(nodes.entry):
            if isinstance(cell.next_node(), nodes.bullet_list) and not cell.astext().strip():
                cell.children = [nodes.paragraph("", "–")]  # noqa: RUF001


def setup(app: Sphinx) -> None:
    """Add the transforms."""
    app.add_transform(RepositoryLinks)
    app.add_transform(Dashes)
