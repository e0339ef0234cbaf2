"""YAML files of operators: values with line numbers, schemas, and readable problems.

All problems of a file are reported together, each with its line and key.
"""
