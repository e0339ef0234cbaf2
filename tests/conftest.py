"""What holds for all tests."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """gabbi takes every test with a colon in its name for one of its own, and fails."""
    if ":" in item.name and "test_pytest" not in item.name:
        item.name = item.name.replace(":", "=")
