"""The cloud file: trees of resource providers described in YAML.

A file is one mapping with two keys::

    aggregates:                       # optional: name -> UUID
      rack-a: 5ac00000-0000-4000-8000-00000000000a
    providers:                        # the roots, in the order in which they are made
    - name: compute-1

A provider has these keys; only ``name`` is required:

``name``
    Text of 1 to 200 characters, unique in the file. Braces are kept for counters.
``uuid``
    By default made from the name, so that loading a file again finds the same providers:
    ``uuid5(NAMESPACE_URL, "urn:placement:provider:" + name)``.
``count``, ``index``
    The entry, with everything below it, stands for ``count`` providers, numbered from 1.
    ``index`` names the counter and is ``n`` when left out; an entry below another one that
    counts needs a counter of its own. The name, and every name below, must contain each
    counter around it: ``{n}``, or ``{n:03}`` for 001, 002 and so on. Neither the entry nor
    one below it can have ``uuid``.
``inventories``
    Resource class -> ``total``, or a mapping of ``total`` (required), ``reserved`` (0),
    ``allocation_ratio`` (1.0), ``min_unit`` (1), ``max_unit`` (2147483647) and
    ``step_size`` (1). ``VCPU: 8`` is short for ``VCPU: {total: 8}``.
``traits``
    List of trait names.
``aggregates``
    List of aggregates, by name or by UUID. A name not listed at the top has the UUID
    ``uuid5(NAMESPACE_URL, "urn:placement:aggregate:" + name)``.
``children``
    List of providers below this one.

Classes and traits that begin with ``CUSTOM_`` are made on the server as needed; the others
have to be known to it. What is left out is empty: a provider without ``traits`` has none,
and loading the file takes away those that it has on the server. Providers that the file
does not name are left alone.

The anchors, aliases and merge keys (``<<``) of YAML work. A key given twice is an error.
"""

import os

from placement.loader.cloud import Cloud
from placement.loader.expansion import Expansion
from placement.loader.rules import rule_problems
from placement.loader.schema import SCHEMA
from placement.yamlfile.document import read
from placement.yamlfile.problems import Problem, UnusableFile
from placement.yamlfile.schema import schema_problems


def load_file(path: str | os.PathLike[str]) -> Cloud:
    """Read and check a cloud file.

    Returns the cloud, its counted entries expanded; the same file gives an equal cloud.
    Raises UnusableFile with every problem of the file.
    """
    document = read(path)
    try:
        problems = list(schema_problems(document, SCHEMA)) or list(rule_problems(document))
    except RecursionError:
        problems = [Problem(0, "", "nested too deeply")]
    if problems:
        raise UnusableFile(document.source, problems)
    expansion = Expansion(document)
    expansion.add_entries(document.value["providers"], ("providers",), None, {})
    if expansion.problems:
        raise UnusableFile(document.source, expansion.problems)
    return Cloud(document.source, tuple(expansion.providers))
