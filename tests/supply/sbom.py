"""Bills of materials in the form of CycloneDX 1.6, from what is locked.

Nothing of other projects is copied into the distributions, the explorer's page included; so a bill
lists what is installed with a distribution, in the versions of `requirements/locked`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from placement import __version__
from tests.supply import licences, locked

LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Project:
    """A distribution of this repository."""

    # As the index has it.
    name: str
    # Its directory.
    directory: Path
    # What is installed with it.
    lock: Path


CLIENT = Project("falcon_placement_client", locked.ROOT / "falcon_placement_client", locked.CLIENT)
SERVICE = Project("falcon_placement", locked.ROOT, locked.SERVICE)
PROJECTS = (SERVICE, CLIENT)


def purl(name: str, version: str) -> str:
    """Return the package URL of a distribution."""
    return f"pkg:pypi/{name}@{version}"


def describe(project: Project, epoch: int) -> Mapping[str, Any]:
    """Return the bill of a distribution, with a time in seconds."""
    versions = locked.pins(project.lock)
    texts = licences.listed()
    root = _component(canonicalize_name(project.name), __version__, LICENCE)
    needed = _needed(project)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**root, "type": "application" if project is SERVICE else "library"},
        },
        "components": [
            _component(name, version, texts.get(name)) for name, version in sorted(versions.items())
        ],
        "dependencies": [
            {
                "ref": root["bom-ref"],
                "dependsOn": [purl(name, versions[name]) for name in needed],
            }
        ],
        # Which of the others needs which depends on the system, and is not stated.
        "compositions": [{"aggregate": "incomplete", "dependencies": [root["bom-ref"]]}],
    }


def _component(name: str, version: str, text: str | None) -> dict[str, Any]:
    reference = purl(name, version)
    component = {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "purl": reference,
    }
    return {**component, "licenses": [_licence(text)]} if text else component


def _licence(text: str) -> Mapping[str, Any]:
    if " " in text:
        return {"expression": text}
    # "BSD" is all that some distributions state.
    return {"license": {"name" if text == "BSD" else "id": text}}


def _needed(project: Project) -> Sequence[str]:
    """Return what a distribution requires itself, without its extras."""
    stated = tomllib.loads((project.directory / "pyproject.toml").read_text())["project"]
    return sorted(canonicalize_name(Requirement(text).name) for text in stated["dependencies"])
