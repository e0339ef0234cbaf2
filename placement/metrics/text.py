"""Metrics as text, in the format 0.0.4 of Prometheus."""

from collections.abc import Iterable, Mapping

from placement.metrics.declarations import Metric


def family(metric: Metric, samples: Iterable[tuple[str, float]]) -> bytes:
    """Return a metric with its samples: labels as text, each with a value."""
    head = f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
    lines = "".join(f"{metric.name}{labels} {value}\n" for labels, value in samples)
    return (head + lines).encode()


def labels(values: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
