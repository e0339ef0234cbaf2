-- provider_parts.aggregates: Select (provider id, aggregate uuid as stored) of the providers' aggregates, by uuid.
SELECT json_row(resource_provider_aggregates.resource_provider_id, placement_aggregates.uuid) AS
    json_row_1
FROM resource_provider_aggregates JOIN placement_aggregates ON placement_aggregates.id =
    resource_provider_aggregates.aggregate_id
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …)
ORDER BY placement_aggregates.uuid;

-- provider_parts.allocations: Select (provider id, consumer, its generation, class, amount) of the allocations.
SELECT json_rows(allocations.resource_provider_id, consumers.uuid, consumers.generation,
    resource_classes.name, allocations.used) AS json_rows_1
FROM allocations JOIN consumers ON (consumers.uuid = ascii_text(allocations.consumer_id) AND
    allocations.consumer_id = ascii_text(consumers.uuid)) JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id IN (:ids …)
GROUP BY allocations.id & 63;

-- provider_parts.inventories: Select (provider id, class, used, fields of the record) of the providers' inventories.
SELECT json_rows(inventories.resource_provider_id, resource_classes.name, inventories.used,
    inventories.total, inventories.reserved, inventories.min_unit, inventories.max_unit,
    inventories.step_size, inventories.allocation_ratio) AS json_rows_1
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
GROUP BY inventories.id & 63;

-- provider_parts.trait_ids: Select (provider id, tuple of trait ids) of the providers that have traits.
SELECT resource_provider_traits.resource_provider_id, json_rows(resource_provider_traits.trait_id)
    AS trait_ids
FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …)
GROUP BY resource_provider_traits.resource_provider_id;
