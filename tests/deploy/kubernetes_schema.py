"""The types of Kubernetes that the manifests use, as one JSON schema: `kubernetes-schema.json`.

The schema is an excerpt of kubernetes-validate, which contains all releases and is fifty times as
large::

    pip install --target DIRECTORY kubernetes-validate
    python -m tests.deploy.kubernetes_schema DIRECTORY
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("kubernetes-schema.json")
# Kind of a manifest -> definition in the schema.
KINDS = {
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Job": "io.k8s.api.batch.v1.Job",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "Secret": "io.k8s.api.core.v1.Secret",
    "Service": "io.k8s.api.core.v1.Service",
}


def _without_words(value: Any) -> Any:
    """Return a schema without its descriptions, with references into one document."""
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_words(each) for key, each in value.items()}
    if isinstance(kept.get("description"), str):
        del kept["description"]
    if "$ref" in kept:
        kept["$ref"] = re.sub(r"^.*#/", "#/", kept["$ref"])
    return {key: each for key, each in kept.items() if not key.startswith("x-kubernetes")}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
    elif isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].removeprefix("#/$defs/")
        for each in value.values():
            yield from _references(each)


def cut_out(directory: Path) -> dict[str, Any]:
    """Return the schema of the newest release in an installed kubernetes-validate."""
    releases = (directory / "kubernetes_validate/kubernetes-json-schema").glob("*-local-strict")
    newest = max(releases, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    definitions = json.loads((newest / "_definitions.json").read_text())["$defs"]
    kept: dict[str, Any] = {}
    missing = set(KINDS.values())
    while missing:
        name = missing.pop()
        kept[name] = _without_words(definitions[name])
        missing |= set(_references(kept[name])) - kept.keys()
    return {"title": f"Kubernetes {newest.name.split('-')[0]}", "$defs": dict(sorted(kept.items()))}


if __name__ == "__main__":
    FILE.write_text(
        json.dumps(cut_out(Path(sys.argv[1])), indent=None, separators=(",", ":")) + "\n"
    )
