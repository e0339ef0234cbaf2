"""`.. metrics:: NAME …`: metrics that constants of `placement.metrics.declarations` contain."""

import textwrap
from collections.abc import Iterable, Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.metrics import declarations
from placement.metrics.declarations import Metric


def metrics_in(names: Iterable[str]) -> Iterator[Metric]:
    """Yield the metrics in constants: single metrics, tuples, and the values of mappings."""
    for name in names:
        value = getattr(declarations, name)
        if isinstance(value, Metric):
            yield value
        else:
            yield from value.values() if isinstance(value, dict) else value


def entry(metric: Metric) -> str:
    """Return the name, the meaning, the labels and the buckets of a metric."""
    parts = [metric.help, "\n".join(f":{name}: {text}" for name, text in metric.labels.items())]
    if metric.buckets:
        parts.append(f"Buckets up to {', '.join(f'{bound:,}' for bound in metric.buckets)}.")
    text = "\n\n".join(part for part in parts if part)
    return f"``{metric.name}`` ({metric.kind})\n{textwrap.indent(text, '    ')}\n"


class Metrics(SphinxDirective):
    """The metrics in some constants."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return an entry for each metric."""
        text = "\n".join(map(entry, metrics_in(self.arguments[0].split())))
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("metrics", Metrics)
