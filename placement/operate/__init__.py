"""What operators run: the checks of a database and of its settings, and their repairs."""
