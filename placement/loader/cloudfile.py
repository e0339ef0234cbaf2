"""The cloud file: trees of resource providers described in YAML.

A file is one mapping, of which only ``providers`` is required::

    aggregates:                       # name -> UUID
      rack-a: 5ac00000-0000-4000-8000-00000000000a
    resource_classes: [CUSTOM_GOLD]   # to be made even if no provider has them
    traits: [CUSTOM_BIG]
    providers:                        # the roots, in the order in which they are made
    - name: compute-1
    consumers:                        # who uses what
    - uuid: c0ffee00-0000-4000-8000-000000000001
      type: INSTANCE
      project: 7c1c2b6f5d1e4a0b9a3f
      user: 0d2f8e1c
      allocations:
        compute-1: {VCPU: 2, MEMORY_MB: 2048}

A provider has these keys; only ``name`` is required:

``name``
    Text of 1 to 200 characters, unique in the file. Braces are kept for counters; a brace of the
    name itself is written twice, as in ``{{``.
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
``parent``
    The name of a provider further up in the file, for an entry of the list at the top that is a
    child all the same, where a tree is too deep for ``children``.

A consumer has these keys; only ``type`` can be left out:

``uuid``
    Of the consumer, such as that of a server.
``project``, ``user``
    For whom it is.
``type``
    Such as ``INSTANCE``. Left out: it has none, and one that it has on the server stays.
``allocations``
    Name of a provider -> resource class -> amount. They replace those on the server. They may be
    more than the inventories allow, as they are where inventories have been cut: while the file is
    loaded, the provider has just the room for them.

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
    expansion.add_all()
    if expansion.problems:
        raise UnusableFile(document.source, expansion.problems)
    return Cloud(
        document.source,
        tuple(expansion.providers),
        tuple(expansion.consumers),
        expansion.custom_names("resource_classes"),
        expansion.custom_names("traits"),
        expansion.aggregate_names,
    )
