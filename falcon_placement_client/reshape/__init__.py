"""Offline reshape: transformations of provider trees, which a file describes.

A file is one mapping with the key `steps`, a list. Each step selects providers and states their
changes. The steps of a file are applied to each tree, one after the other::

    steps:
    - providers: {root: true, traits: [CUSTOM_HAS_GPUS]}
      move: [VGPU]
      to:
      - child: "{name}-gpu{n}"
        count: 2
        traits: [CUSTOM_GPU]

``providers``
    The selected providers, which must satisfy all stated conditions. ``name``: a pattern with ``*``
    and ``?``. ``root``: whether they are roots. ``traits``, ``without_traits``: names.
    ``aggregates``: UUIDs. ``resources``: classes that they have an inventory of. ``{}`` selects
    all.
``move``, ``to``, ``split``
    Move the inventories of these classes, and the allocations from them, to children of the
    provider. ``child`` is the name of the child, where ``{name}`` stands for the name of the
    provider. ``count`` makes several children of an entry, numbered by ``{n}``. Missing children
    are created. ``traits`` are added to them. They share total and reserved equally;
    ``inventories`` may state other values for a class: ``total`` (or the bare number),
    ``reserved``, ``min_unit``, ``max_unit``, ``step_size``, ``allocation_ratio``. The allocations
    of a consumer move to one child; with ``split: true`` they may be divided if they do not fit
    into one.
``rename``
    Class -> its new name, in inventories and in allocations.
``give``
    Traits to add to the providers.

A provider without inventory of the classes does not change, so a file can be applied again. The
package uses only the REST API of the service.
"""
