-- allocation_state.state: Select lists that start with a tag, on which the other values of a list depend.
SELECT json_row('resource_class', resource_classes.id, resource_classes.name) AS json_row_1
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …)
UNION ALL
SELECT json_row('project', projects.id, projects.external_id) AS json_row_2
FROM projects
WHERE projects.external_id IN (:project …)
UNION ALL
SELECT json_row('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, resource_providers.root_provider_id, root.revision,
    inventories.resource_provider_id, inventories.resource_class_id, resource_classes.name,
    inventories.id, inventories.used, inventories.total, inventories.reserved, inventories.min_unit,
    inventories.max_unit, inventories.step_size, inventories.allocation_ratio) AS json_row_3
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = resource_providers.id LEFT OUTER JOIN resource_classes ON
    resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:providers …)
UNION ALL
SELECT json_row('consumer', consumers.id, consumers.uuid, consumers.generation,
    consumers.project_id, consumers.user_id, consumers.consumer_type_id, allocations.id,
    allocations.resource_provider_id, allocations.resource_class_id, allocations.used, root.id,
    root.revision, inventories.id, claim_records.id, claim_records.hold_generation,
    claim_records.expires_at) AS json_row_4
FROM consumers LEFT OUTER JOIN claim_records ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) LEFT OUTER JOIN allocations ON
    (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(allocations.consumer_id)) LEFT OUTER JOIN resource_providers ON resource_providers.id
    = allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT json_row('unrecorded', allocations.consumer_id, allocations.id,
    allocations.resource_provider_id, allocations.resource_class_id, allocations.used, root.id,
    root.revision, inventories.id) AS json_row_5
FROM allocations LEFT OUTER JOIN resource_providers ON resource_providers.id =
    allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE allocations.consumer_id IN (:consumers …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
        ascii_text(allocations.consumer_id))));
