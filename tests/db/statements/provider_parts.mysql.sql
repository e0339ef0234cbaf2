-- provider_parts.aggregates: Select (provider id, uuid as stored) of the aggregates that the providers are in, by uuid.
SELECT CONCAT('[', IFNULL(resource_provider_aggregates.resource_provider_id, 'null'), ',',
    IFNULL(JSON_QUOTE(placement_aggregates.uuid), 'null'), ']') AS json_row_1
FROM resource_provider_aggregates INNER JOIN placement_aggregates ON placement_aggregates.id =
    resource_provider_aggregates.aggregate_id
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …)
ORDER BY placement_aggregates.uuid;


-- provider_parts.allocations: Select (provider id, consumer, its generation, class, amount) on the providers.
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(allocations.resource_provider_id, 'null'), ',',
    IFNULL(JSON_QUOTE(consumers.uuid), 'null'), ',', IFNULL(consumers.generation, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(allocations.used, 'null'), ']')),
    ']') AS json_rows_1
FROM allocations INNER JOIN consumers ON consumers.uuid = allocations.consumer_id INNER JOIN
    resource_classes ON resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id IN (:ids …)
GROUP BY allocations.id & 63;


-- provider_parts.inventories: Select (provider id, class, used, fields of `Record`) of the providers' inventories.
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(inventories.resource_provider_id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(inventories.used, 'null'), ',',
    IFNULL(inventories.total, 'null'), ',', IFNULL(inventories.reserved, 'null'), ',',
    IFNULL(inventories.min_unit, 'null'), ',', IFNULL(inventories.max_unit, 'null'), ',',
    IFNULL(inventories.step_size, 'null'), ',', IFNULL(inventories.allocation_ratio, 'null'), ']')),
    ']') AS json_rows_1
FROM inventories INNER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
GROUP BY inventories.id & 63;


-- provider_parts.trait_ids: Select (provider id, tuple of trait ids) of those that have traits.
SELECT resource_provider_traits.resource_provider_id, CONCAT('[', GROUP_CONCAT(CONCAT('[',
    IFNULL(resource_provider_traits.trait_id, 'null'), ']')), ']') AS trait_ids
FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …)
GROUP BY resource_provider_traits.resource_provider_id;
