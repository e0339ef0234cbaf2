"""The private parts of libraries that the service uses. Each library has a module."""
