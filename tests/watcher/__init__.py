"""The example strategy with Watcher's own base classes, model and actions."""
