"""Files about the metrics use exactly the declared names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from placement.api.routes import ROUTES
from placement.metrics.declarations import ALL, SERVICE, Kind
from placement_docs.metrics import metrics_in

ROOT = Path(__file__).resolve().parents[3]
DASHBOARD = json.loads((ROOT / "etc/grafana-dashboard.json").read_text())
REFERENCE = (ROOT / "docs/reference/metrics.rst").read_text()
RULES = yaml.safe_load((ROOT / "etc/prometheus-rules.yaml").read_text())

# Name of a series -> its labels.
SERIES = {
    f"{metric.name}{suffix}": {*metric.labels, *(["le"] if suffix == "_bucket" else [])}
    for metric in ALL
    for suffix in (("_bucket", "_sum", "_count") if metric.kind is Kind.HISTOGRAM else ("",))
}
WORD = r"[a-zA-Z_:][\w:]*"
FUNCTIONS = {
    "absent", "by", "delta", "histogram_quantile", "increase", "max", "min", "rate", "sum", "topk",
}  # fmt: skip
OPERATIONS = {route.operation for route in ROUTES} | {"show_metrics", "other"}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    return [rule for group in RULES["groups"] for rule in group["rules"]]


def expressions() -> Iterator[Any]:
    for panel in panels():
        for target in panel["targets"]:
            yield pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
    for number, query in enumerate(re.findall(r"::\n\n((?: {4}.*\n)+)", REFERENCE)[:-1]):
        yield pytest.param(query, id=f"query {number} of the reference")
    for rule in rules():
        yield pytest.param(rule["expr"], id=rule["alert"])


@pytest.mark.parametrize("expression", list(expressions()))
def test_an_expression_names_series_and_labels_that_there_are(expression: str) -> None:
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing)
    ranges = re.findall(r"\[([^]]*)\]", expression)
    assert all(re.fullmatch(r"\d+[mh]|\$__(rate_interval|interval|range)", each) for each in ranges)
    matchers = re.findall(rf"({WORD})\{{([^}}]*)\}}", expression)
    groupings = [
        label.strip()
        for labels in re.findall(r"\bby \(([^)]*)\)", expression)
        for label in labels.split(",")
    ]
    bare = re.sub(r"\bby \([^)]*\)|\{[^}]*\}|\[[^]]*\]", " ", expression)
    names = set(re.findall(WORD, bare)) - FUNCTIONS
    assert names
    assert names <= SERIES.keys()
    known = {"instance"}.union(*(SERIES[name] for name in names))  # Prometheus adds it to all
    assert set(groupings) <= known
    for name, matcher in matchers:
        for label, _operator, value in re.findall(rf'({WORD})(=~|!=|=)"([^"]*)"', matcher):
            assert label in SERIES[name]
            if label == "operation":
                assert any(re.fullmatch(value, operation) for operation in OPERATIONS), value
    # A counter alone only grows: its rate or its increase says something.
    for name in names:
        if name.endswith(("_total", "_bucket", "_sum", "_count")) and name in _counted():
            use = rf"(rate|increase|absent)\({name}"
            assert len(re.findall(use, expression)) == len(re.findall(rf"\b{name}\b", expression))


def _counted() -> set[str]:
    return {name for name in SERIES if name.startswith("placement_")} - {
        metric.name for metric in SERVICE if metric.kind is Kind.GAUGE
    }


def test_the_dashboard_shows_every_metric() -> None:
    shown = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    assert [metric.name for metric in ALL if not re.search(rf"\b{metric.name}", shown)] == []


def test_the_dashboard_has_the_form_that_grafana_reads() -> None:
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= DASHBOARD.keys()
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in cells, panel["title"]
                cells.add((x, y))
    for panel in panels():
        assert panel["type"] in {"stat", "timeseries", "bargauge", "table"}
        references = [target["refId"] for target in panel["targets"]]
        assert references == sorted(set(references))
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            labels = re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))
            assert all(re.search(rf"\bby \([^)]*\b{label}\b", target["expr"]) for label in labels)


def test_the_alerts_have_the_form_that_prometheus_reads() -> None:
    assert RULES.keys() == {"groups"}
    for group in RULES["groups"]:
        assert group.keys() == {"name", "rules"}
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)
    for rule in rules():
        assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}
        # A label in the text must be left by the expression.
        for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"])):
            grouped = re.findall(r"\bby \(([^)]*)\)", rule["expr"])
            assert all(label in labels for labels in grouped)
            assert grouped or "sum(" not in rule["expr"]


def test_the_reference_has_every_metric_once() -> None:
    constants = " ".join(re.findall(r"^\.\. metrics:: (.+)$", REFERENCE, re.MULTILINE))
    names = [metric.name for metric in metrics_in(constants.split())]
    assert sorted(names) == sorted(metric.name for metric in ALL)


def test_names_follow_the_rules_of_prometheus() -> None:
    names = [metric.name for metric in ALL]
    assert len(set(names)) == len(names)
    for metric in ALL:
        assert re.fullmatch(r"((openstack_)?placement|process)_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER) or (
            metric.name == "openstack_placement_resource_total"
        )
        assert bool(metric.buckets) == (metric.kind is Kind.HISTOGRAM)
        assert list(metric.buckets) == sorted(metric.buckets)
        assert metric.help.endswith(".")


def test_the_scrape_configuration_of_the_reference_is_yaml_for_the_default_path() -> None:
    [text] = re.findall(r"::\n\n((?: {4}.*\n)+)\Z", REFERENCE)
    [job] = yaml.safe_load(text)["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
