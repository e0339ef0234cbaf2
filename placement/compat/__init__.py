"""Private parts of libraries: one module for each library, with tests that detect changes."""
