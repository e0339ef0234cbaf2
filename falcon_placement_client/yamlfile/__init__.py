"""YAML files of operators: line numbers of values, schemas, and readable problems.

All problems of a file are reported together, each with its line and key.
"""
