"""These tests run only when asked: they need the packages of Galera, and minutes."""

import os

collect_ignore_glob = [] if os.environ.get("PLACEMENT_GALERA") else ["test_*.py"]
