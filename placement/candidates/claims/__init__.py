"""Claims, which search for candidates and allocate one of them in a single request."""
