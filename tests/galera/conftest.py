"""These tests run only on request, because they need the packages of Galera and several minutes."""

import os

collect_ignore_glob = [] if os.environ.get("PLACEMENT_GALERA") else ["test_*.py"]
