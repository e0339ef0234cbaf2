"""Private parts of libraries, in one module for each library, with tests that detect changes."""
