"""These tests run only on request, because they need a generator in a separate virtualenv."""

import os

collect_ignore_glob = [] if os.environ.get("PLACEMENT_CLIENT") else ["test_*.py"]
