"""What would be: why no host serves a request, how many more fit, what a change would do.

Nothing here writes. The package imports `placement.candidates`, which imports nothing of it.
"""
