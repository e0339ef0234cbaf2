"""The explorer in a real browser, against real servers."""
