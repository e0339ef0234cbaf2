-- provider_parts.aggregates: Select (provider id, uuid as stored) of the aggregates that the providers are in, by uuid.
SELECT json_array(resource_provider_aggregates.resource_provider_id, placement_aggregates.uuid) AS
    json_row_1
FROM resource_provider_aggregates JOIN placement_aggregates ON placement_aggregates.id =
    resource_provider_aggregates.aggregate_id
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …)
ORDER BY placement_aggregates.uuid;


-- provider_parts.allocations: Select (provider id, consumer, its generation, class, amount) on the providers.
SELECT json_group_array(json_array(allocations.resource_provider_id, consumers.uuid,
    consumers.generation, resource_classes.name, allocations.used)) AS json_rows_1
FROM allocations JOIN consumers ON consumers.uuid = allocations.consumer_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id IN (:ids …)
GROUP BY allocations.id & 63;


-- provider_parts.inventories: Select (provider id, class, used, fields of `Record`) of the providers' inventories.
SELECT json_group_array(json_array(inventories.resource_provider_id, resource_classes.name,
    inventories.used, inventories.total, inventories.reserved, inventories.min_unit,
    inventories.max_unit, inventories.step_size, json(printf('%!.17g',
    inventories.allocation_ratio)))) AS json_rows_1
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
GROUP BY inventories.id & 63;


-- provider_parts.trait_ids: Select (provider id, tuple of trait ids) of those that have traits.
SELECT resource_provider_traits.resource_provider_id,
    json_group_array(json_array(resource_provider_traits.trait_id)) AS trait_ids
FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …)
GROUP BY resource_provider_traits.resource_provider_id;
