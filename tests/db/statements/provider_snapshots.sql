-- provider_snapshots.with_aggregates: Select providers with the ids of the aggregates that they are directly in.
SELECT json_row('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('part', resource_provider_aggregates.resource_provider_id,
    resource_provider_aggregates.aggregate_id) AS json_row_2
FROM resource_providers JOIN resource_provider_aggregates ON
    resource_provider_aggregates.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('entry', placement_aggregates.id, placement_aggregates.uuid,
    coalesce(placement_aggregates.updated_at, placement_aggregates.created_at)) AS json_row_3
FROM placement_aggregates
WHERE placement_aggregates.uuid IN (:names …);

-- provider_snapshots.with_dependants: Select providers, each with one row about its dependants.
SELECT json_row('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('part', resource_providers.id, (SELECT count(*) AS count_1
    FROM inventories
    WHERE inventories.resource_provider_id = resource_providers.id), (SELECT count(*) AS count_2
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id), (SELECT count(*)
        AS count_3
    FROM resource_provider_aggregates
    WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id), CASE WHEN
        (EXISTS (SELECT *
      FROM resource_providers AS child
      WHERE child.parent_provider_id = resource_providers.id)) THEN 1 ELSE 0 END, CASE WHEN (EXISTS
          (SELECT *
      FROM allocations
      WHERE allocations.resource_provider_id = resource_providers.id)) THEN 1 ELSE 0 END) AS
          json_row_2
FROM resource_providers
WHERE resource_providers.uuid IN (:ids …);

-- provider_snapshots.with_inventories: Select providers with (class id, class, id, used, fields of the record) of inventories.
SELECT json_row('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('part', inventories.resource_provider_id, inventories.resource_class_id,
    resource_classes.name, inventories.id, inventories.used, inventories.total,
    inventories.reserved, inventories.min_unit, inventories.max_unit, inventories.step_size,
    inventories.allocation_ratio) AS json_row_2
FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
    JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('entry', resource_classes.id, resource_classes.name,
    coalesce(resource_classes.updated_at, resource_classes.created_at)) AS json_row_3
FROM resource_classes
WHERE resource_classes.name IN (:names …);

-- provider_snapshots.with_traits: Select providers with the ids of their traits.
SELECT json_row('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('part', resource_provider_traits.resource_provider_id,
    resource_provider_traits.trait_id) AS json_row_2
FROM resource_providers JOIN resource_provider_traits ON
    resource_provider_traits.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_row('entry', traits.id, traits.name, coalesce(traits.updated_at, traits.created_at)) AS
    json_row_3
FROM traits
WHERE traits.name IN (:names …);
