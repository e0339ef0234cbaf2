-- provider_parts.aggregates: Select (provider id, aggregate uuid as stored) of the providers' aggregates, by uuid.
-- on sqlite
SELECT json_array(resource_provider_aggregates.resource_provider_id, placement_aggregates.uuid) AS
    json_row_1
FROM resource_provider_aggregates JOIN placement_aggregates ON placement_aggregates.id =
    resource_provider_aggregates.aggregate_id
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …)
ORDER BY placement_aggregates.uuid;
-- on mysql
SELECT CONCAT('[', IFNULL(resource_provider_aggregates.resource_provider_id, 'null'), ',',
    IFNULL(JSON_QUOTE(placement_aggregates.uuid), 'null'), ']') AS json_row_1
FROM resource_provider_aggregates INNER JOIN placement_aggregates ON placement_aggregates.id =
    resource_provider_aggregates.aggregate_id
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …)
ORDER BY placement_aggregates.uuid;
-- on postgresql
SELECT CAST(json_build_array(resource_provider_aggregates.resource_provider_id,
    placement_aggregates.uuid) AS TEXT) AS json_row_1
FROM resource_provider_aggregates JOIN placement_aggregates ON placement_aggregates.id =
    resource_provider_aggregates.aggregate_id
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …)
ORDER BY placement_aggregates.uuid;


-- provider_parts.allocations: Select (provider id, consumer, its generation, class, amount) of the allocations.
-- on sqlite
SELECT json_group_array(json_array(allocations.resource_provider_id, consumers.uuid,
    consumers.generation, resource_classes.name, allocations.used)) AS json_rows_1
FROM allocations JOIN consumers ON consumers.uuid = allocations.consumer_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id IN (:ids …)
GROUP BY allocations.id & 63;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(allocations.resource_provider_id, 'null'), ',',
    IFNULL(JSON_QUOTE(consumers.uuid), 'null'), ',', IFNULL(consumers.generation, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(allocations.used, 'null'), ']')),
    ']') AS json_rows_1
FROM allocations INNER JOIN consumers ON (consumers.uuid = CONVERT(allocations.consumer_id USING
    ascii) AND allocations.consumer_id = CONVERT(consumers.uuid USING ascii)) INNER JOIN
    resource_classes ON resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id IN (:ids …)
GROUP BY allocations.id & 63;
-- on postgresql
SELECT CAST(json_agg(json_build_array(allocations.resource_provider_id, consumers.uuid,
    consumers.generation, resource_classes.name, allocations.used)) AS TEXT) AS json_rows_1
FROM allocations JOIN consumers ON consumers.uuid = allocations.consumer_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id IN (:ids …)
GROUP BY allocations.id & 63;


-- provider_parts.inventories: Select (provider id, class, used, fields of the record) of the providers' inventories.
-- on sqlite
SELECT json_group_array(json_array(inventories.resource_provider_id, resource_classes.name,
    inventories.used, inventories.total, inventories.reserved, inventories.min_unit,
    inventories.max_unit, inventories.step_size, json(printf('%!.17g',
    inventories.allocation_ratio)))) AS json_rows_1
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
GROUP BY inventories.id & 63;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(inventories.resource_provider_id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(inventories.used, 'null'), ',',
    IFNULL(inventories.total, 'null'), ',', IFNULL(inventories.reserved, 'null'), ',',
    IFNULL(inventories.min_unit, 'null'), ',', IFNULL(inventories.max_unit, 'null'), ',',
    IFNULL(inventories.step_size, 'null'), ',', IFNULL(inventories.allocation_ratio, 'null'), ']')),
    ']') AS json_rows_1
FROM inventories INNER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
GROUP BY inventories.id & 63;
-- on postgresql
SELECT CAST(json_agg(json_build_array(inventories.resource_provider_id, resource_classes.name,
    inventories.used, inventories.total, inventories.reserved, inventories.min_unit,
    inventories.max_unit, inventories.step_size, inventories.allocation_ratio)) AS TEXT) AS
    json_rows_1
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
GROUP BY inventories.id & 63;


-- provider_parts.trait_ids: Select (provider id, tuple of trait ids) of the providers that have traits.
-- on sqlite
SELECT resource_provider_traits.resource_provider_id,
    json_group_array(json_array(resource_provider_traits.trait_id)) AS trait_ids
FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …)
GROUP BY resource_provider_traits.resource_provider_id;
-- on mysql
SELECT resource_provider_traits.resource_provider_id, CONCAT('[', GROUP_CONCAT(CONCAT('[',
    IFNULL(resource_provider_traits.trait_id, 'null'), ']')), ']') AS trait_ids
FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …)
GROUP BY resource_provider_traits.resource_provider_id;
-- on postgresql
SELECT resource_provider_traits.resource_provider_id,
    CAST(json_agg(json_build_array(resource_provider_traits.trait_id)) AS TEXT) AS trait_ids
FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …)
GROUP BY resource_provider_traits.resource_provider_id;
