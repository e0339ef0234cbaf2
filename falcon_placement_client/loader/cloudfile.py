"""The cloud file: trees of resource providers described in YAML.

A file is one mapping. Only the key ``providers`` is required::

    aggregates:                       # name -> UUID
      rack-a: 5ac00000-0000-4000-8000-00000000000a
    resource_classes: [CUSTOM_GOLD]   # to create even if no provider has them
    traits: [CUSTOM_BIG]
    providers:                        # the roots, in the order of creation
    - name: compute-1
    consumers:                        # the users of resources
    - uuid: c0ffee00-0000-4000-8000-000000000001
      type: INSTANCE
      project: 7c1c2b6f5d1e4a0b9a3f
      user: 0d2f8e1c
      allocations:
        compute-1: {VCPU: 2, MEMORY_MB: 2048}

A provider has these keys; only ``name`` is required:

``name``
    Text of 1 to 200 characters, unique in the file. Braces are reserved for counters; a literal
    brace is written twice, as in ``{{``.
``uuid``
    By default, the UUID is derived from the name, so that loading the file again finds the same
    providers: ``uuid5(NAMESPACE_URL, "urn:placement:provider:" + name)``.
``count``, ``index``
    The entry, with all entries below it, represents ``count`` providers, numbered from 1.
    ``index`` is the name of the counter, by default ``n``; nested entries with ``count`` need
    different names. The name of the entry, and every name below it, must contain each surrounding
    counter: ``{n}``, or ``{n:03}`` for 001, 002 and so on. Neither the entry nor an entry below it
    can have ``uuid``.
``inventories``
    Resource class -> ``total``, or a mapping of ``total`` (required), ``reserved`` (0),
    ``allocation_ratio`` (1.0), ``min_unit`` (1), ``max_unit`` (2147483647) and
    ``step_size`` (1). ``VCPU: 8`` is short for ``VCPU: {total: 8}``.
``traits``
    List of trait names.
``aggregates``
    List of aggregates, by name or by UUID. The UUID of a name that is not listed at the top is
    ``uuid5(NAMESPACE_URL, "urn:placement:aggregate:" + name)``.
``children``
    List of providers below this one.
``parent``
    The name of an earlier provider in the file, for a child that is an entry of the top list
    because the tree is too deep for ``children``.

A consumer has these keys; ``type``, ``spread_group`` and ``request`` can be left out:

``uuid``
    The consumer, such as a server.
``project``, ``user``
    Its owner.
``type``
    Such as ``INSTANCE``. Without it, a new consumer has no type, and an existing one keeps its
    type.
``allocations``
    Name of a provider -> resource class -> amount. They replace the allocations on the server. They
    may exceed the inventories, for example if the inventories have been reduced. While the file is
    being loaded, the provider temporarily has just enough room.
``spread_group``
    ``{name: web, max_per_host: 1}``: the spread group of the consumer. The members on its host are
    not counted when the file is loaded. Without it, an existing consumer keeps its group.
``request``
    The stored request, in the form of ``POST /allocation_candidates``. Its amounts must be equal to
    the allocations. Without it, an existing consumer keeps its request.

Spread groups and requests need placement 2.0. A file contains no holds. A dump omits them, because
they would end soon, while a loaded consumer is permanent.

Missing classes and traits that begin with ``CUSTOM_`` are created; all others must exist on the
server. Omitted keys mean empty: if a provider has no ``traits``, loading the file removes
its traits on the server. Providers that are not in the file do not change.

Anchors, aliases and merge keys (``<<``) of YAML are supported. A duplicate key is an error.
"""

import os

from falcon_placement_client.loader.cloud import Cloud
from falcon_placement_client.loader.expansion import Expansion
from falcon_placement_client.loader.rules import rule_problems
from falcon_placement_client.loader.schema import SCHEMA
from falcon_placement_client.yamlfile.document import read
from falcon_placement_client.yamlfile.problems import Problem, UnusableFile
from falcon_placement_client.yamlfile.schema import schema_problems


def load_file(path: str | os.PathLike[str]) -> Cloud:
    """Read and validate a cloud file, and expand its counted entries.  Raises UnusableFile."""
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
        lines=expansion.lines,
    )
