"""Files that operators write in YAML: values that know their lines, schemas, problems in words.

Everything that is wrong with a file is told at once, each thing with its line and key.
"""
