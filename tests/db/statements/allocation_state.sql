-- allocation_state.state: Select lists that start with a tag. The other values in a list depend on the tag.
-- on sqlite
SELECT json_array('resource_class', resource_classes.id, resource_classes.name) AS json_row_1
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …)
UNION ALL
SELECT json_array('project', projects.id, projects.external_id) AS json_row_2
FROM projects
WHERE projects.external_id IN (:project …)
UNION ALL
SELECT json_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, resource_providers.root_provider_id,
    resource_providers.parent_provider_id, root.revision, inventories.resource_provider_id,
    inventories.resource_class_id, resource_classes.name, inventories.id, inventories.used,
    inventories.total, inventories.reserved, inventories.min_unit, inventories.max_unit,
    inventories.step_size, json(printf('%!.17g', inventories.allocation_ratio))) AS json_row_3
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = resource_providers.id LEFT OUTER JOIN resource_classes ON
    resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:providers …)
UNION ALL
SELECT json_array('consumer', consumers.id, consumers.uuid, consumers.generation,
    consumers.project_id, consumers.user_id, consumers.consumer_type_id, allocations.id,
    allocations.resource_provider_id, allocations.resource_class_id, allocations.used, root.id,
    root.revision, inventories.id, claim_records.id, claim_records.hold_generation,
    claim_records.expires_at) AS json_row_4
FROM consumers LEFT OUTER JOIN claim_records ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) LEFT OUTER JOIN allocations ON
    allocations.consumer_id = consumers.uuid LEFT OUTER JOIN resource_providers ON
    resource_providers.id = allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS
    root ON root.id = resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT json_array('unrecorded', allocations.consumer_id, allocations.id,
    allocations.resource_provider_id, allocations.resource_class_id, allocations.used, root.id,
    root.revision, inventories.id) AS json_row_5
FROM allocations LEFT OUTER JOIN resource_providers ON resource_providers.id =
    allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE allocations.consumer_id IN (:consumers …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE allocations.consumer_id = consumers.uuid));
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('resource_class'), 'null'), ',', IFNULL(resource_classes.id,
    'null'), ',', IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ']') AS json_row_1
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('project'), 'null'), ',', IFNULL(projects.id, 'null'), ',',
    IFNULL(JSON_QUOTE(projects.external_id), 'null'), ']') AS json_row_2
FROM projects
WHERE projects.external_id IN (:project …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('provider'), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(resource_providers.root_provider_id, 'null'), ',',
    IFNULL(resource_providers.parent_provider_id, 'null'), ',', IFNULL(root.revision, 'null'), ',',
    IFNULL(inventories.resource_provider_id, 'null'), ',', IFNULL(inventories.resource_class_id,
    'null'), ',', IFNULL(JSON_QUOTE(resource_classes.name), 'null'), ',', IFNULL(inventories.id,
    'null'), ',', IFNULL(inventories.used, 'null'), ',', IFNULL(inventories.total, 'null'), ',',
    IFNULL(inventories.reserved, 'null'), ',', IFNULL(inventories.min_unit, 'null'), ',',
    IFNULL(inventories.max_unit, 'null'), ',', IFNULL(inventories.step_size, 'null'), ',',
    IFNULL(inventories.allocation_ratio, 'null'), ']') AS json_row_3
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = resource_providers.id LEFT OUTER JOIN resource_classes ON
    resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:providers …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('consumer'), 'null'), ',', IFNULL(consumers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(consumers.uuid), 'null'), ',', IFNULL(consumers.generation, 'null'), ',',
    IFNULL(consumers.project_id, 'null'), ',', IFNULL(consumers.user_id, 'null'), ',',
    IFNULL(consumers.consumer_type_id, 'null'), ',', IFNULL(allocations.id, 'null'), ',',
    IFNULL(allocations.resource_provider_id, 'null'), ',', IFNULL(allocations.resource_class_id,
    'null'), ',', IFNULL(allocations.used, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(root.revision, 'null'), ',', IFNULL(inventories.id, 'null'), ',',
    IFNULL(claim_records.id, 'null'), ',', IFNULL(claim_records.hold_generation, 'null'), ',',
    IFNULL(claim_records.expires_at, 'null'), ']') AS json_row_4
FROM consumers LEFT OUTER JOIN claim_records ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(claim_records.consumer_uuid USING ascii)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) LEFT OUTER JOIN allocations ON
    (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(allocations.consumer_id USING ascii)) LEFT OUTER JOIN resource_providers ON
    resource_providers.id = allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS
    root ON root.id = resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('unrecorded'), 'null'), ',',
    IFNULL(JSON_QUOTE(allocations.consumer_id), 'null'), ',', IFNULL(allocations.id, 'null'), ',',
    IFNULL(allocations.resource_provider_id, 'null'), ',', IFNULL(allocations.resource_class_id,
    'null'), ',', IFNULL(allocations.used, 'null'), ',', IFNULL(root.id, 'null'), ',',
    IFNULL(root.revision, 'null'), ',', IFNULL(inventories.id, 'null'), ']') AS json_row_5
FROM allocations LEFT OUTER JOIN resource_providers ON resource_providers.id =
    allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE allocations.consumer_id IN (:consumers …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
        CONVERT(allocations.consumer_id USING ascii))));
-- on postgresql
SELECT CAST(json_build_array('resource_class', resource_classes.id, resource_classes.name) AS TEXT)
    AS json_row_1
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …)
UNION ALL
SELECT CAST(json_build_array('project', projects.id, projects.external_id) AS TEXT) AS json_row_2
FROM projects
WHERE projects.external_id IN (:project …)
UNION ALL
SELECT CAST(json_build_array('provider', resource_providers.uuid, resource_providers.generation,
    resource_providers.id, resource_providers.root_provider_id,
    resource_providers.parent_provider_id, root.revision, inventories.resource_provider_id,
    inventories.resource_class_id, resource_classes.name, inventories.id, inventories.used,
    inventories.total, inventories.reserved, inventories.min_unit, inventories.max_unit,
    inventories.step_size, inventories.allocation_ratio) AS TEXT) AS json_row_3
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = resource_providers.id LEFT OUTER JOIN resource_classes ON
    resource_classes.id = inventories.resource_class_id
WHERE resource_providers.uuid IN (:providers …)
UNION ALL
SELECT CAST(json_build_array('consumer', consumers.id, consumers.uuid, consumers.generation,
    consumers.project_id, consumers.user_id, consumers.consumer_type_id, allocations.id,
    allocations.resource_provider_id, allocations.resource_class_id, allocations.used, root.id,
    root.revision, inventories.id, claim_records.id, claim_records.hold_generation,
    claim_records.expires_at) AS TEXT) AS json_row_4
FROM consumers LEFT OUTER JOIN claim_records ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) LEFT OUTER JOIN allocations ON
    allocations.consumer_id = consumers.uuid LEFT OUTER JOIN resource_providers ON
    resource_providers.id = allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS
    root ON root.id = resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT CAST(json_build_array('unrecorded', allocations.consumer_id, allocations.id,
    allocations.resource_provider_id, allocations.resource_class_id, allocations.used, root.id,
    root.revision, inventories.id) AS TEXT) AS json_row_5
FROM allocations LEFT OUTER JOIN resource_providers ON resource_providers.id =
    allocations.resource_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = allocations.resource_provider_id AND
    inventories.resource_class_id = allocations.resource_class_id
WHERE allocations.consumer_id IN (:consumers …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE allocations.consumer_id = consumers.uuid));
