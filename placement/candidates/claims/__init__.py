"""Claims: a search, and the write of one of the candidates that it has found."""
