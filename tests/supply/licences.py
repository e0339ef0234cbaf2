"""The licences of all that the service needs, as `requirements/locked/licences.txt` lists them.

`make lock` writes it for the installed distributions.
"""

from importlib import metadata
from typing import Any

from packaging.utils import canonicalize_name

from tests.supply import locked

LISTED = locked.LOCKED / "licences.txt"

# With these, the service may be given on under its own licence, if they are left as they are.
ACCEPTED = frozenset(
    [
        *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"),
        *("MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "ZPL-2.1", "Zlib"),
        # With these it may be used as a library.
        *("LGPL-2.1-or-later", "LGPL-3.0-only"),
    ]
)

# What distributions call their licence that do not use the identifiers of SPDX.
SPOKEN = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "The Unlicense (Unlicense)": "Unlicense",
    "Zope Public License": "ZPL-2.1",
}


def licence(name: str) -> str:
    """Return the licence that an installed distribution states, as SPDX writes it; or ''."""
    fields: dict[str, Any] = metadata.metadata(name).json
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in fields.get("classifier", [])
        if text.startswith("License :: ") and not text.endswith("OSI Approved")
    ]
    texts = [fields.get("license_expression"), *classifiers, fields.get("license")]
    # Some state the whole text.
    first = next((text for text in texts if text and "\n" not in text), "")
    return SPOKEN.get(first, first)


def listed() -> dict[str, str]:
    """Return what the file says: licence by name."""
    rows = [line for line in LISTED.read_text().splitlines() if not line.startswith("#")]
    return dict(row.split(": ", 1) for row in rows)


def stated() -> dict[str, str]:
    """Return what the distributions that the service needs say, as far as they are installed."""
    installed = {canonicalize_name(each.name) for each in metadata.distributions()}
    return {name: licence(name) for name in locked.pins(locked.SERVICE) if name in installed}


def main() -> None:
    """Write the file."""
    rows = "".join(f"{name}: {text}\n" for name, text in sorted(stated().items()))
    LISTED.write_text(f"# The licences of what the service needs. Generated: make lock\n{rows}")


if __name__ == "__main__":
    main()
