-- provider_snapshots.with_aggregates: Select providers with the ids of the aggregates that they are directly in.
-- on sqlite
SELECT json_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('part', resource_provider_aggregates.resource_provider_id,
    resource_provider_aggregates.aggregate_id) AS json_row_2
FROM resource_providers JOIN resource_provider_aggregates ON
    resource_provider_aggregates.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('entry', placement_aggregates.id, placement_aggregates.uuid,
    coalesce(placement_aggregates.updated_at, placement_aggregates.created_at)) AS json_row_3
FROM placement_aggregates
WHERE placement_aggregates.uuid IN (:names …);
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('provider'), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(resource_providers.id, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(JSON_QUOTE(root.uuid), 'null'), ',', IFNULL(root.revision, 'null'), ']') AS json_row_1
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('part'), 'null'), ',',
    IFNULL(resource_provider_aggregates.resource_provider_id, 'null'), ',',
    IFNULL(resource_provider_aggregates.aggregate_id, 'null'), ']') AS json_row_2
FROM resource_providers INNER JOIN resource_provider_aggregates ON
    resource_provider_aggregates.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('entry'), 'null'), ',', IFNULL(placement_aggregates.id,
    'null'), ',', IFNULL(JSON_QUOTE(placement_aggregates.uuid), 'null'), ',', IFNULL(CONCAT('"',
    coalesce(placement_aggregates.updated_at, placement_aggregates.created_at), '"'), 'null'), ']')
    AS json_row_3
FROM placement_aggregates
WHERE placement_aggregates.uuid IN (:names …);
-- on postgresql
SELECT CAST(json_build_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS TEXT) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('part', resource_provider_aggregates.resource_provider_id,
    resource_provider_aggregates.aggregate_id) AS TEXT) AS json_row_2
FROM resource_providers JOIN resource_provider_aggregates ON
    resource_provider_aggregates.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('entry', placement_aggregates.id, placement_aggregates.uuid,
    coalesce(placement_aggregates.updated_at, placement_aggregates.created_at)) AS TEXT) AS
    json_row_3
FROM placement_aggregates
WHERE placement_aggregates.uuid IN (:names …);


-- provider_snapshots.with_dependants: Select providers, each with one row about its dependants.
-- on sqlite
SELECT json_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('part', resource_providers.id, (SELECT count(*) AS count_1
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
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('provider'), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(resource_providers.id, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(JSON_QUOTE(root.uuid), 'null'), ',', IFNULL(root.revision, 'null'), ']') AS json_row_1
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('part'), 'null'), ',', IFNULL(resource_providers.id, 'null'),
    ',', IFNULL((SELECT count(*) AS count_1
      FROM inventories
      WHERE inventories.resource_provider_id = resource_providers.id), 'null'), ',', IFNULL((SELECT
          count(*) AS count_2
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = resource_providers.id), 'null'), ',',
          IFNULL((SELECT count(*) AS count_3
      FROM resource_provider_aggregates
      WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id), 'null'),
          ',', IFNULL(CASE WHEN (EXISTS (SELECT *
        FROM resource_providers AS child
        WHERE child.parent_provider_id = resource_providers.id)) THEN 1 ELSE 0 END, 'null'), ',',
            IFNULL(CASE WHEN (EXISTS (SELECT *
        FROM allocations
        WHERE allocations.resource_provider_id = resource_providers.id)) THEN 1 ELSE 0 END, 'null'),
            ']') AS json_row_2
FROM resource_providers
WHERE resource_providers.uuid IN (:ids …);
-- on postgresql
SELECT CAST(json_build_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS TEXT) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('part', resource_providers.id, (SELECT count(*) AS count_1
      FROM inventories
      WHERE inventories.resource_provider_id = resource_providers.id), (SELECT count(*) AS count_2
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = resource_providers.id), (SELECT count(*)
          AS count_3
      FROM resource_provider_aggregates
      WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id), CASE WHEN
          (EXISTS (SELECT *
        FROM resource_providers AS child
        WHERE child.parent_provider_id = resource_providers.id)) THEN 1 ELSE 0 END, CASE WHEN
            (EXISTS (SELECT *
        FROM allocations
        WHERE allocations.resource_provider_id = resource_providers.id)) THEN 1 ELSE 0 END) AS TEXT)
            AS json_row_2
FROM resource_providers
WHERE resource_providers.uuid IN (:ids …);


-- provider_snapshots.with_inventories: Select providers with (class id, class, id, used, fields of the record) of inventories.
-- on sqlite
SELECT json_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('part', inventories.resource_provider_id, inventories.resource_class_id,
    resource_classes.name, inventories.id, inventories.used, inventories.total,
    inventories.reserved, inventories.min_unit, inventories.max_unit, inventories.step_size,
    json(printf('%!.17g', inventories.allocation_ratio))) AS json_row_2
FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
    JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('entry', resource_classes.id, resource_classes.name,
    coalesce(resource_classes.updated_at, resource_classes.created_at)) AS json_row_3
FROM resource_classes
WHERE resource_classes.name IN (:names …);
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('provider'), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(resource_providers.id, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(JSON_QUOTE(root.uuid), 'null'), ',', IFNULL(root.revision, 'null'), ']') AS json_row_1
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('part'), 'null'), ',', IFNULL(inventories.resource_provider_id,
    'null'), ',', IFNULL(inventories.resource_class_id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(inventories.id, 'null'), ',',
    IFNULL(inventories.used, 'null'), ',', IFNULL(inventories.total, 'null'), ',',
    IFNULL(inventories.reserved, 'null'), ',', IFNULL(inventories.min_unit, 'null'), ',',
    IFNULL(inventories.max_unit, 'null'), ',', IFNULL(inventories.step_size, 'null'), ',',
    IFNULL(inventories.allocation_ratio, 'null'), ']') AS json_row_2
FROM resource_providers INNER JOIN inventories ON inventories.resource_provider_id =
    resource_providers.id INNER JOIN resource_classes ON resource_classes.id =
    inventories.resource_class_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('entry'), 'null'), ',', IFNULL(resource_classes.id, 'null'),
    ',', IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(CONCAT('"',
    coalesce(resource_classes.updated_at, resource_classes.created_at), '"'), 'null'), ']') AS
    json_row_3
FROM resource_classes
WHERE resource_classes.name IN (:names …);
-- on postgresql
SELECT CAST(json_build_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS TEXT) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('part', inventories.resource_provider_id,
    inventories.resource_class_id, resource_classes.name, inventories.id, inventories.used,
    inventories.total, inventories.reserved, inventories.min_unit, inventories.max_unit,
    inventories.step_size, inventories.allocation_ratio) AS TEXT) AS json_row_2
FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
    JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('entry', resource_classes.id, resource_classes.name,
    coalesce(resource_classes.updated_at, resource_classes.created_at)) AS TEXT) AS json_row_3
FROM resource_classes
WHERE resource_classes.name IN (:names …);


-- provider_snapshots.with_traits: Select providers with the ids of their traits.
-- on sqlite
SELECT json_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('part', resource_provider_traits.resource_provider_id,
    resource_provider_traits.trait_id) AS json_row_2
FROM resource_providers JOIN resource_provider_traits ON
    resource_provider_traits.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT json_array('entry', traits.id, traits.name, coalesce(traits.updated_at, traits.created_at))
    AS json_row_3
FROM traits
WHERE traits.name IN (:names …);
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('provider'), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(resource_providers.id, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(JSON_QUOTE(root.uuid), 'null'), ',', IFNULL(root.revision, 'null'), ']') AS json_row_1
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('part'), 'null'), ',',
    IFNULL(resource_provider_traits.resource_provider_id, 'null'), ',',
    IFNULL(resource_provider_traits.trait_id, 'null'), ']') AS json_row_2
FROM resource_providers INNER JOIN resource_provider_traits ON
    resource_provider_traits.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('entry'), 'null'), ',', IFNULL(traits.id, 'null'), ',',
    IFNULL(JSON_QUOTE(traits.name), 'null'), ',', IFNULL(CONCAT('"', coalesce(traits.updated_at,
    traits.created_at), '"'), 'null'), ']') AS json_row_3
FROM traits
WHERE traits.name IN (:names …);
-- on postgresql
SELECT CAST(json_build_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS TEXT) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('part', resource_provider_traits.resource_provider_id,
    resource_provider_traits.trait_id) AS TEXT) AS json_row_2
FROM resource_providers JOIN resource_provider_traits ON
    resource_provider_traits.resource_provider_id = resource_providers.id
WHERE resource_providers.uuid IN (:ids …)
UNION ALL
SELECT CAST(json_build_array('entry', traits.id, traits.name, coalesce(traits.updated_at,
    traits.created_at)) AS TEXT) AS json_row_3
FROM traits
WHERE traits.name IN (:names …);


-- provider_snapshots.without_parts: Select providers without any of their parts.
-- on sqlite
SELECT json_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …);
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('provider'), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(resource_providers.id, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(JSON_QUOTE(root.uuid), 'null'), ',', IFNULL(root.revision, 'null'), ']') AS json_row_1
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …);
-- on postgresql
SELECT CAST(json_build_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, root.id, root.uuid, root.revision) AS TEXT) AS json_row_1
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …);
