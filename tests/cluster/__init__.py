"""Several server processes on one database: races, many writers, and killed processes."""
