"""Private parts of libraries: a module for each library, and a test of what upstream lacks."""
