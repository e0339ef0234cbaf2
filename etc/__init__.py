"""What `placement-manage samples` writes, and files for the source tree alone."""
