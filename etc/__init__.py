"""The files that `placement-manage samples` writes, and a few that only the source tree needs."""
