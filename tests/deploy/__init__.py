"""The files of etc/deploy, run with the programs that they are for."""
