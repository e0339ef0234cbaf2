"""Run Sphinx with what `make docs` installs: the service with its extra `docs`, and the client."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Sequence
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sphinx.cmd.build import main


def installed_for(requirements: Iterable[str]) -> set[str]:
    """Return the distributions that pip installs for these requirements."""
    seen: set[tuple[str, str]] = set()
    waiting = [entry for text in requirements for entry in _entries(Requirement(text))]
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        try:
            needed = metadata.requires(entry[0]) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform
        for requirement in map(Requirement, needed):
            if requirement.marker is None or requirement.marker.evaluate({"extra": entry[1]}):
                waiting += _entries(requirement)
    return {name for name, _extra in seen}


def _entries(requirement: Requirement) -> list[tuple[str, str]]:
    return [(canonicalize_name(requirement.name), extra) for extra in ("", *requirement.extras)]


class OthersHidden(MetaPathFinder):
    """Does not find modules that only other distributions contain."""

    def __init__(self, distributions: set[str]) -> None:
        self._hidden = {
            module
            for module, names in metadata.packages_distributions().items()
            if distributions.isdisjoint(map(canonicalize_name, names))
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._hidden:
            raise ModuleNotFoundError(f"the extra docs does not install {fullname}")
        return None


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["docs"]
    needed = (*project["dependencies"], *extra, "falcon-placement-client")
    sys.meta_path.insert(0, OthersHidden(installed_for(needed) | {"falcon-placement"}))
    sys.exit(main(sys.argv[1:]))
