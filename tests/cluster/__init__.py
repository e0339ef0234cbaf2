"""Several server processes on one database: races, many writers, and plugs that are pulled."""
