"""Offline reshape: transformations of provider trees, described in a file.

A file is one mapping with the key `steps`, a list. Each step chooses providers and says what
becomes of them; the steps of a file follow one another on each tree::

    steps:
    - providers: {root: true, traits: [CUSTOM_HAS_GPUS]}
      move: [VGPU]
      to:
      - child: "{name}-gpu{n}"
        count: 2
        traits: [CUSTOM_GPU]

``providers``
    Which ones; all that is stated must hold. ``name``: a pattern with ``*`` and ``?``. ``root``:
    whether they are roots. ``traits``, ``without_traits``: names. ``aggregates``: UUIDs.
    ``resources``: classes of which they have inventory. ``{}`` chooses all.
``move``, ``to``, ``split``
    The inventories of these classes, and what consumers hold of them, go to children of the
    provider. ``child`` is the name, with ``{name}`` for that of the provider; ``count`` makes
    several of an entry, numbered by ``{n}``. Children that do not exist are made. ``traits`` are
    given to them. They share total and reserved equally; ``inventories`` may state for a class
    what differs: ``total`` (or the bare number), ``reserved``, ``min_unit``, ``max_unit``,
    ``step_size``, ``allocation_ratio``. All that one consumer holds of the classes goes to one
    child; with ``split: true`` it may be divided where it does not fit into one.
``rename``
    Class -> its new name. Inventories and what consumers hold of them get the new one.
``give``
    Traits that the providers get.

A provider without inventory of the classes is left alone, so that a file can be run again. Nothing
is known here of the service but its REST API.
"""
