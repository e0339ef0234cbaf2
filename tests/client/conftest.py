"""These tests run only when asked: they need a generator of clients, in a virtualenv of its own."""

import os

collect_ignore_glob = [] if os.environ.get("PLACEMENT_CLIENT") else ["test_*.py"]
