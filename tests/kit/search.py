"""The search without the API, and its cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import LATEST, Microversion
from placement.api.parameters import pairs
from placement.candidates import SearchResult, TreeCache, find_candidates
from tests.kit.builders import make_database
from tests.kit.statements import counted


class Cost(NamedTuple):
    """A result, the number of statements, and the number of loaded trees."""

    result: SearchResult
    statements: int
    trees: int


class Searcher:
    """A new database, with the trees that a process has cached."""

    def __init__(self, directory: Path, **overrides: Mapping[str, object]) -> None:
        """On SQLite the file is in the directory. overrides: group -> option -> value."""
        self.settings, self.database = make_database(directory, **overrides)
        self.forget()

    def forget(self) -> None:
        """Drop all cached trees."""
        self.trees = TreeCache(10**6)

    def find(self, path: str, version: Microversion = LATEST) -> Cost:
        """Find the candidates for a path, or for a query alone."""
        before = len(self.trees)
        request = parse_candidates(pairs(path.rpartition("?")[2]), version)
        with counted(self.database) as statements, self.database.read_trees() as conn:
            result = find_candidates(conn, self.trees, request, self.settings.candidates)
        return Cost(result, len(statements), len(self.trees) - before)

    def find_cold(self, path: str, version: Microversion = LATEST) -> Cost:
        """Find them without cached trees."""
        self.forget()
        return self.find(path, version)
