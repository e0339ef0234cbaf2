"""The files in etc/deploy, tested with the programs for which they are written."""
