"""The search alone, below the API, and what it takes."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from placement.api.history import LATEST
from placement.api.microversion import Microversion
from placement.api.query import pairs, parse_candidates
from placement.candidates import SearchResult, TreeCache, find_candidates
from tests.kit.builders import make_database
from tests.kit.statements import counted


class Cost(NamedTuple):
    """An answer, the number of statements, and the number of trees that were loaded."""

    result: SearchResult
    statements: int
    trees: int


class Searcher:
    """A database of its own, and the trees that a process has seen of it."""

    def __init__(self, directory: Path, **overrides: Mapping[str, object]) -> None:
        """SQLite's file is in the directory; overrides: group -> option -> value."""
        self.settings, self.database = make_database(directory, **overrides)
        self.forget()

    def forget(self) -> None:
        """Have seen no tree."""
        self.trees = TreeCache(10**6)

    def find(self, path: str, version: Microversion = LATEST) -> Cost:
        """Find the candidates that a path, or its query alone, asks for."""
        before = len(self.trees)
        request = parse_candidates(pairs(path.rpartition("?")[2]), version)
        with counted(self.database) as statements, self.database.read_trees() as conn:
            result = find_candidates(conn, self.trees, request, self.settings.candidates)
        return Cost(result, len(statements), len(self.trees) - before)

    def find_cold(self, path: str, version: Microversion = LATEST) -> Cost:
        """Find them as a process does that has seen no tree."""
        self.forget()
        return self.find(path, version)
