-- integrity.allocations_without_inventory: Select allocations of a class of which their provider has no inventory.
-- on sqlite, postgresql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    allocations.consumer_id AS consumer, allocations.used
FROM allocations JOIN resource_providers ON resource_providers.id = allocations.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = allocations.resource_class_id
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM inventories
    WHERE inventories.resource_provider_id = allocations.resource_provider_id AND
        inventories.resource_class_id = allocations.resource_class_id));
-- on mysql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    allocations.consumer_id AS consumer, allocations.used
FROM allocations INNER JOIN resource_providers ON resource_providers.id =
    allocations.resource_provider_id LEFT OUTER JOIN resource_classes ON resource_classes.id =
    allocations.resource_class_id
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM inventories
    WHERE inventories.resource_provider_id = allocations.resource_provider_id AND
        inventories.resource_class_id = allocations.resource_class_id));


-- integrity.count: Select the number of rows of another statement.

-- of others
SELECT count(*) AS count_1
FROM (SELECT resource_providers.uuid AS provider
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0) AS anon_1;


-- integrity.delete_lost: Delete rows that `lost_among` has returned.

-- inventories
DELETE FROM inventories
WHERE inventories.id = 1;

-- traits
DELETE FROM resource_provider_traits
WHERE resource_provider_traits.trait_id = 7 AND resource_provider_traits.resource_provider_id = 1 OR
    resource_provider_traits.trait_id = 8 AND resource_provider_traits.resource_provider_id = 1;


-- integrity.detach: Make providers roots, in one statement, because both old values may violate constraints.
UPDATE resource_providers
SET root_provider_id=resource_providers.id, parent_provider_id=:parent_provider_id
WHERE resource_providers.id IN (:ids …);


-- integrity.ended_holds: Select holds that have expired and were not released yet.
-- on sqlite
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE claim_records.hold_generation = consumers.generation AND claim_records.expires_at <=
    (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) / 1000);
-- on mysql
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records INNER JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(claim_records.consumer_uuid USING ascii)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE claim_records.hold_generation = consumers.generation AND claim_records.expires_at <=
    ((TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) / 1000);
-- on postgresql
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE claim_records.hold_generation = consumers.generation AND claim_records.expires_at <=
    (CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) / 1000);


-- integrity.examples: Select the first rows of a statement, or all rows if `size` is None.

-- of others
-- on sqlite
SELECT resource_providers.uuid AS provider
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0
ORDER BY provider
LIMIT 3 OFFSET 0;
-- on mysql, postgresql
SELECT resource_providers.uuid AS provider
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0
ORDER BY provider
LIMIT 3;


-- integrity.forest: Select (id, uuid, parent id, root id) of the next providers, by id.
-- on sqlite
SELECT resource_providers.id, resource_providers.uuid, resource_providers.parent_provider_id AS
    parent_id, resource_providers.root_provider_id AS root_id
FROM resource_providers
WHERE resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 1000 OFFSET 0;
-- on mysql, postgresql
SELECT resource_providers.id, resource_providers.uuid, resource_providers.parent_provider_id AS
    parent_id, resource_providers.root_provider_id AS root_id
FROM resource_providers
WHERE resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 1000;


-- integrity.idle_consumers: Select consumers that have no allocations.
-- on sqlite, postgresql
SELECT consumers.uuid AS consumer
FROM consumers
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE consumers.uuid = allocations.consumer_id));
-- on mysql
SELECT consumers.uuid AS consumer
FROM consumers
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE (consumers.uuid = CONVERT(allocations.consumer_id USING ascii) AND allocations.consumer_id
        = CONVERT(consumers.uuid USING ascii))));


-- integrity.inventories_of_unknown_class: Select inventories whose class does not exist.
-- on sqlite, postgresql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.resource_class_id
FROM inventories JOIN resource_providers ON resource_providers.id = inventories.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE resource_classes.id IS NULL;
-- on mysql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.resource_class_id
FROM inventories INNER JOIN resource_providers ON resource_providers.id =
    inventories.resource_provider_id LEFT OUTER JOIN resource_classes ON resource_classes.id =
    inventories.resource_class_id
WHERE resource_classes.id IS NULL;


-- integrity.lost: Select inventories, allocations or associations that refer to a missing row.

-- inventories
SELECT inventories.id, inventories.resource_provider_id, inventories.resource_class_id,
    inventories.total
FROM inventories
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_providers
    WHERE resource_providers.id = inventories.resource_provider_id));

-- allocations
SELECT allocations.id, allocations.resource_provider_id, allocations.consumer_id,
    allocations.resource_class_id, allocations.used
FROM allocations
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_providers
    WHERE resource_providers.id = allocations.resource_provider_id));

-- traits
SELECT resource_provider_traits.trait_id, resource_provider_traits.resource_provider_id
FROM resource_provider_traits
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_providers
    WHERE resource_providers.id = resource_provider_traits.resource_provider_id)) OR NOT (EXISTS
        (SELECT 1 AS anon_2
    FROM traits
    WHERE traits.id = resource_provider_traits.trait_id));

-- aggregates
SELECT resource_provider_aggregates.resource_provider_id, resource_provider_aggregates.aggregate_id
FROM resource_provider_aggregates
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_providers
    WHERE resource_providers.id = resource_provider_aggregates.resource_provider_id)) OR NOT (EXISTS
        (SELECT 1 AS anon_2
    FROM placement_aggregates
    WHERE placement_aggregates.id = resource_provider_aggregates.aggregate_id));


-- integrity.lost_among: Select the rows that still refer to a missing row, of the rows that `lost` has returned.

-- traits
SELECT resource_provider_traits.trait_id, resource_provider_traits.resource_provider_id
FROM resource_provider_traits
WHERE (NOT (EXISTS (SELECT 1 AS anon_1
      FROM resource_providers
      WHERE resource_providers.id = resource_provider_traits.resource_provider_id)) OR NOT (EXISTS
          (SELECT 1 AS anon_2
      FROM traits
      WHERE traits.id = resource_provider_traits.trait_id))) AND resource_provider_traits.trait_id =
          7 AND resource_provider_traits.resource_provider_id = 1;


-- integrity.numbered_inventories: Select (provider, class, used, capacity, id) of inventories.
-- on sqlite, postgresql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.used, inventories.capacity, inventories.id
FROM inventories JOIN resource_providers ON resource_providers.id = inventories.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.id IN (:ids …);
-- on mysql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.used, inventories.capacity, inventories.id
FROM inventories INNER JOIN resource_providers ON resource_providers.id =
    inventories.resource_provider_id LEFT OUTER JOIN resource_classes ON resource_classes.id =
    inventories.resource_class_id
WHERE inventories.id IN (:ids …);


-- integrity.overcommitted: Select inventories whose usage exceeds their capacity.
-- on sqlite, postgresql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.used, inventories.capacity
FROM inventories JOIN resource_providers ON resource_providers.id = inventories.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.used > inventories.capacity;
-- on mysql
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.used, inventories.capacity
FROM inventories INNER JOIN resource_providers ON resource_providers.id =
    inventories.resource_provider_id LEFT OUTER JOIN resource_classes ON resource_classes.id =
    inventories.resource_class_id
WHERE inventories.used > inventories.capacity;


-- integrity.positions: Select (id, uuid, parent id, root id) of providers.
SELECT resource_providers.id, resource_providers.uuid, resource_providers.parent_provider_id AS
    parent_id, resource_providers.root_provider_id AS root_id
FROM resource_providers
WHERE resource_providers.id IN (:ids …);


-- integrity.record_consumers: Insert records with generation 0 and without a type.
INSERT INTO consumers (uuid, project_id, user_id, generation, created_at)
VALUES (:uuid_0, :project_id_0, :user_id_0, :generation_0, :created_at_0);


-- integrity.records_without_consumer: Select claim records that belong to no consumer.
-- on sqlite, postgresql
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid = consumers.uuid
        AND claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)));
-- on mysql
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
        CONVERT(consumers.uuid USING ascii) AND consumers.uuid = CONVERT(claim_records.consumer_uuid
        USING ascii)) AND claim_records.consumer_created_at = coalesce(consumers.created_at,
        :coalesce_1)));


-- integrity.rootless: Select (id, parent id) of the first providers without a root id, or all if `size` is None.
-- on sqlite
SELECT resource_providers.id, resource_providers.parent_provider_id AS parent_id
FROM resource_providers
WHERE resource_providers.root_provider_id IS NULL
ORDER BY resource_providers.id
LIMIT 1000 OFFSET 0;
-- on mysql, postgresql
SELECT resource_providers.id, resource_providers.parent_provider_id AS parent_id
FROM resource_providers
WHERE resource_providers.root_provider_id IS NULL
ORDER BY resource_providers.id
LIMIT 1000;


-- integrity.set_roots: Set the root ids of providers, by id.
UPDATE resource_providers
SET root_provider_id=CASE resource_providers.id WHEN :id_0 THEN :value_0 END
WHERE resource_providers.id IN (:ids …);


-- integrity.shape: Select no rows, but all columns. The query fails if a column is missing or cannot be read.
-- on sqlite
SELECT (SELECT count(*) AS count_1
  FROM (SELECT allocations.created_at AS created_at, allocations.updated_at AS updated_at,
      allocations.id AS id, allocations.resource_provider_id AS resource_provider_id,
      allocations.consumer_id AS consumer_id, allocations.resource_class_id AS resource_class_id,
      allocations.used AS used
    FROM allocations
    WHERE 0 = 1) AS allocations_columns) AS anon_1, (SELECT count(*) AS count_2
  FROM (SELECT change_batches.position AS position, change_batches.token AS token,
      change_batches.numbered_at AS numbered_at
    FROM change_batches
    WHERE 0 = 1) AS change_batches_columns) AS anon_2, (SELECT count(*) AS count_3
  FROM (SELECT change_feed.id AS id, change_feed.position AS position, change_feed.token AS token,
      change_feed.numbered_at AS numbered_at, change_feed.revision_sum AS revision_sum
    FROM change_feed
    WHERE 0 = 1) AS change_feed_columns) AS anon_3, (SELECT count(*) AS count_4
  FROM (SELECT claim_records.created_at AS created_at, claim_records.updated_at AS updated_at,
      claim_records.id AS id, claim_records.consumer_id AS consumer_id, claim_records.consumer_uuid
      AS consumer_uuid, claim_records.consumer_created_at AS consumer_created_at,
      claim_records.project_id AS project_id, claim_records.spread_group AS spread_group,
      claim_records.max_per_host AS max_per_host, claim_records.hold_generation AS hold_generation,
      claim_records.held_since AS held_since, claim_records.expires_at AS expires_at,
      claim_records.mappings AS mappings, claim_records.request AS request
    FROM claim_records
    WHERE 0 = 1) AS claim_records_columns) AS anon_4, (SELECT count(*) AS count_5
  FROM (SELECT consumer_types.created_at AS created_at, consumer_types.updated_at AS updated_at,
      consumer_types.id AS id, consumer_types.name AS name
    FROM consumer_types
    WHERE 0 = 1) AS consumer_types_columns) AS anon_5, (SELECT count(*) AS count_6
  FROM (SELECT inventories.created_at AS created_at, inventories.updated_at AS updated_at,
      inventories.id AS id, inventories.resource_provider_id AS resource_provider_id,
      inventories.resource_class_id AS resource_class_id, inventories.total AS total,
      inventories.reserved AS reserved, inventories.min_unit AS min_unit, inventories.max_unit AS
      max_unit, inventories.step_size AS step_size, inventories.allocation_ratio AS
      allocation_ratio, inventories.used AS used, inventories.capacity AS capacity
    FROM inventories
    WHERE 0 = 1) AS inventories_columns) AS anon_6, (SELECT count(*) AS count_7
  FROM (SELECT placement_aggregates.created_at AS created_at, placement_aggregates.updated_at AS
      updated_at, placement_aggregates.id AS id, placement_aggregates.uuid AS uuid
    FROM placement_aggregates
    WHERE 0 = 1) AS placement_aggregates_columns) AS anon_7, (SELECT count(*) AS count_8
  FROM (SELECT projects.created_at AS created_at, projects.updated_at AS updated_at, projects.id AS
      id, projects.external_id AS external_id
    FROM projects
    WHERE 0 = 1) AS projects_columns) AS anon_8, (SELECT count(*) AS count_9
  FROM (SELECT resource_classes.created_at AS created_at, resource_classes.updated_at AS updated_at,
      resource_classes.id AS id, resource_classes.name AS name
    FROM resource_classes
    WHERE 0 = 1) AS resource_classes_columns) AS anon_9, (SELECT count(*) AS count_10
  FROM (SELECT resource_provider_aggregates.created_at AS created_at,
      resource_provider_aggregates.updated_at AS updated_at,
      resource_provider_aggregates.resource_provider_id AS resource_provider_id,
      resource_provider_aggregates.aggregate_id AS aggregate_id
    FROM resource_provider_aggregates
    WHERE 0 = 1) AS resource_provider_aggregates_columns) AS anon_10, (SELECT count(*) AS count_11
  FROM (SELECT resource_providers.created_at AS created_at, resource_providers.updated_at AS
      updated_at, resource_providers.id AS id, resource_providers.uuid AS uuid,
      resource_providers.name AS name, resource_providers.generation AS generation,
      resource_providers.root_provider_id AS root_provider_id, resource_providers.parent_provider_id
      AS parent_provider_id, resource_providers.revision AS revision
    FROM resource_providers
    WHERE 0 = 1) AS resource_providers_columns) AS anon_11, (SELECT count(*) AS count_12
  FROM (SELECT traits.created_at AS created_at, traits.updated_at AS updated_at, traits.id AS id,
      traits.name AS name
    FROM traits
    WHERE 0 = 1) AS traits_columns) AS anon_12, (SELECT count(*) AS count_13
  FROM (SELECT tree_changes.provider_id AS provider_id, tree_changes.uuid AS uuid,
      tree_changes.revision AS revision, tree_changes.position AS position
    FROM tree_changes
    WHERE 0 = 1) AS tree_changes_columns) AS anon_13, (SELECT count(*) AS count_14
  FROM (SELECT users.created_at AS created_at, users.updated_at AS updated_at, users.id AS id,
      users.external_id AS external_id
    FROM users
    WHERE 0 = 1) AS users_columns) AS anon_14, (SELECT count(*) AS count_15
  FROM (SELECT consumers.created_at AS created_at, consumers.updated_at AS updated_at, consumers.id
      AS id, consumers.uuid AS uuid, consumers.project_id AS project_id, consumers.user_id AS
      user_id, consumers.generation AS generation, consumers.consumer_type_id AS consumer_type_id
    FROM consumers
    WHERE 0 = 1) AS consumers_columns) AS anon_15, (SELECT count(*) AS count_16
  FROM (SELECT resource_provider_traits.created_at AS created_at,
      resource_provider_traits.updated_at AS updated_at, resource_provider_traits.trait_id AS
      trait_id, resource_provider_traits.resource_provider_id AS resource_provider_id
    FROM resource_provider_traits
    WHERE 0 = 1) AS resource_provider_traits_columns) AS anon_16;
-- on mysql
SELECT (SELECT count(*) AS count_1
  FROM (SELECT allocations.created_at AS created_at, allocations.updated_at AS updated_at,
      allocations.id AS id, allocations.resource_provider_id AS resource_provider_id,
      allocations.consumer_id AS consumer_id, allocations.resource_class_id AS resource_class_id,
      allocations.used AS used
    FROM allocations
    WHERE false = 1) AS allocations_columns) AS anon_1, (SELECT count(*) AS count_2
  FROM (SELECT change_batches.position AS position, change_batches.token AS token,
      change_batches.numbered_at AS numbered_at
    FROM change_batches
    WHERE false = 1) AS change_batches_columns) AS anon_2, (SELECT count(*) AS count_3
  FROM (SELECT change_feed.id AS id, change_feed.position AS position, change_feed.token AS token,
      change_feed.numbered_at AS numbered_at, change_feed.revision_sum AS revision_sum
    FROM change_feed
    WHERE false = 1) AS change_feed_columns) AS anon_3, (SELECT count(*) AS count_4
  FROM (SELECT claim_records.created_at AS created_at, claim_records.updated_at AS updated_at,
      claim_records.id AS id, claim_records.consumer_id AS consumer_id, claim_records.consumer_uuid
      AS consumer_uuid, claim_records.consumer_created_at AS consumer_created_at,
      claim_records.project_id AS project_id, claim_records.spread_group AS spread_group,
      claim_records.max_per_host AS max_per_host, claim_records.hold_generation AS hold_generation,
      claim_records.held_since AS held_since, claim_records.expires_at AS expires_at,
      claim_records.mappings AS mappings, claim_records.request AS request
    FROM claim_records
    WHERE false = 1) AS claim_records_columns) AS anon_4, (SELECT count(*) AS count_5
  FROM (SELECT consumer_types.created_at AS created_at, consumer_types.updated_at AS updated_at,
      consumer_types.id AS id, consumer_types.name AS name
    FROM consumer_types
    WHERE false = 1) AS consumer_types_columns) AS anon_5, (SELECT count(*) AS count_6
  FROM (SELECT inventories.created_at AS created_at, inventories.updated_at AS updated_at,
      inventories.id AS id, inventories.resource_provider_id AS resource_provider_id,
      inventories.resource_class_id AS resource_class_id, inventories.total AS total,
      inventories.reserved AS reserved, inventories.min_unit AS min_unit, inventories.max_unit AS
      max_unit, inventories.step_size AS step_size, inventories.allocation_ratio AS
      allocation_ratio, inventories.used AS used, inventories.capacity AS capacity
    FROM inventories
    WHERE false = 1) AS inventories_columns) AS anon_6, (SELECT count(*) AS count_7
  FROM (SELECT placement_aggregates.created_at AS created_at, placement_aggregates.updated_at AS
      updated_at, placement_aggregates.id AS id, placement_aggregates.uuid AS uuid
    FROM placement_aggregates
    WHERE false = 1) AS placement_aggregates_columns) AS anon_7, (SELECT count(*) AS count_8
  FROM (SELECT projects.created_at AS created_at, projects.updated_at AS updated_at, projects.id AS
      id, projects.external_id AS external_id
    FROM projects
    WHERE false = 1) AS projects_columns) AS anon_8, (SELECT count(*) AS count_9
  FROM (SELECT resource_classes.created_at AS created_at, resource_classes.updated_at AS updated_at,
      resource_classes.id AS id, resource_classes.name AS name
    FROM resource_classes
    WHERE false = 1) AS resource_classes_columns) AS anon_9, (SELECT count(*) AS count_10
  FROM (SELECT resource_provider_aggregates.created_at AS created_at,
      resource_provider_aggregates.updated_at AS updated_at,
      resource_provider_aggregates.resource_provider_id AS resource_provider_id,
      resource_provider_aggregates.aggregate_id AS aggregate_id
    FROM resource_provider_aggregates
    WHERE false = 1) AS resource_provider_aggregates_columns) AS anon_10, (SELECT count(*) AS
        count_11
  FROM (SELECT resource_providers.created_at AS created_at, resource_providers.updated_at AS
      updated_at, resource_providers.id AS id, resource_providers.uuid AS uuid,
      resource_providers.name AS name, resource_providers.generation AS generation,
      resource_providers.root_provider_id AS root_provider_id, resource_providers.parent_provider_id
      AS parent_provider_id, resource_providers.revision AS revision
    FROM resource_providers
    WHERE false = 1) AS resource_providers_columns) AS anon_11, (SELECT count(*) AS count_12
  FROM (SELECT traits.created_at AS created_at, traits.updated_at AS updated_at, traits.id AS id,
      traits.name AS name
    FROM traits
    WHERE false = 1) AS traits_columns) AS anon_12, (SELECT count(*) AS count_13
  FROM (SELECT tree_changes.provider_id AS provider_id, tree_changes.uuid AS uuid,
      tree_changes.revision AS revision, tree_changes.position AS position
    FROM tree_changes
    WHERE false = 1) AS tree_changes_columns) AS anon_13, (SELECT count(*) AS count_14
  FROM (SELECT users.created_at AS created_at, users.updated_at AS updated_at, users.id AS id,
      users.external_id AS external_id
    FROM users
    WHERE false = 1) AS users_columns) AS anon_14, (SELECT count(*) AS count_15
  FROM (SELECT consumers.created_at AS created_at, consumers.updated_at AS updated_at, consumers.id
      AS id, consumers.uuid AS uuid, consumers.project_id AS project_id, consumers.user_id AS
      user_id, consumers.generation AS generation, consumers.consumer_type_id AS consumer_type_id
    FROM consumers
    WHERE false = 1) AS consumers_columns) AS anon_15, (SELECT count(*) AS count_16
  FROM (SELECT resource_provider_traits.created_at AS created_at,
      resource_provider_traits.updated_at AS updated_at, resource_provider_traits.trait_id AS
      trait_id, resource_provider_traits.resource_provider_id AS resource_provider_id
    FROM resource_provider_traits
    WHERE false = 1) AS resource_provider_traits_columns) AS anon_16;
-- on postgresql
SELECT (SELECT count(*) AS count_1
  FROM (SELECT allocations.created_at AS created_at, allocations.updated_at AS updated_at,
      allocations.id AS id, allocations.resource_provider_id AS resource_provider_id,
      allocations.consumer_id AS consumer_id, allocations.resource_class_id AS resource_class_id,
      allocations.used AS used
    FROM allocations
    WHERE false) AS allocations_columns) AS anon_1, (SELECT count(*) AS count_2
  FROM (SELECT change_batches.position AS position, change_batches.token AS token,
      change_batches.numbered_at AS numbered_at
    FROM change_batches
    WHERE false) AS change_batches_columns) AS anon_2, (SELECT count(*) AS count_3
  FROM (SELECT change_feed.id AS id, change_feed.position AS position, change_feed.token AS token,
      change_feed.numbered_at AS numbered_at, change_feed.revision_sum AS revision_sum
    FROM change_feed
    WHERE false) AS change_feed_columns) AS anon_3, (SELECT count(*) AS count_4
  FROM (SELECT claim_records.created_at AS created_at, claim_records.updated_at AS updated_at,
      claim_records.id AS id, claim_records.consumer_id AS consumer_id, claim_records.consumer_uuid
      AS consumer_uuid, claim_records.consumer_created_at AS consumer_created_at,
      claim_records.project_id AS project_id, claim_records.spread_group AS spread_group,
      claim_records.max_per_host AS max_per_host, claim_records.hold_generation AS hold_generation,
      claim_records.held_since AS held_since, claim_records.expires_at AS expires_at,
      claim_records.mappings AS mappings, claim_records.request AS request
    FROM claim_records
    WHERE false) AS claim_records_columns) AS anon_4, (SELECT count(*) AS count_5
  FROM (SELECT consumer_types.created_at AS created_at, consumer_types.updated_at AS updated_at,
      consumer_types.id AS id, consumer_types.name AS name
    FROM consumer_types
    WHERE false) AS consumer_types_columns) AS anon_5, (SELECT count(*) AS count_6
  FROM (SELECT inventories.created_at AS created_at, inventories.updated_at AS updated_at,
      inventories.id AS id, inventories.resource_provider_id AS resource_provider_id,
      inventories.resource_class_id AS resource_class_id, inventories.total AS total,
      inventories.reserved AS reserved, inventories.min_unit AS min_unit, inventories.max_unit AS
      max_unit, inventories.step_size AS step_size, inventories.allocation_ratio AS
      allocation_ratio, inventories.used AS used, inventories.capacity AS capacity
    FROM inventories
    WHERE false) AS inventories_columns) AS anon_6, (SELECT count(*) AS count_7
  FROM (SELECT placement_aggregates.created_at AS created_at, placement_aggregates.updated_at AS
      updated_at, placement_aggregates.id AS id, placement_aggregates.uuid AS uuid
    FROM placement_aggregates
    WHERE false) AS placement_aggregates_columns) AS anon_7, (SELECT count(*) AS count_8
  FROM (SELECT projects.created_at AS created_at, projects.updated_at AS updated_at, projects.id AS
      id, projects.external_id AS external_id
    FROM projects
    WHERE false) AS projects_columns) AS anon_8, (SELECT count(*) AS count_9
  FROM (SELECT resource_classes.created_at AS created_at, resource_classes.updated_at AS updated_at,
      resource_classes.id AS id, resource_classes.name AS name
    FROM resource_classes
    WHERE false) AS resource_classes_columns) AS anon_9, (SELECT count(*) AS count_10
  FROM (SELECT resource_provider_aggregates.created_at AS created_at,
      resource_provider_aggregates.updated_at AS updated_at,
      resource_provider_aggregates.resource_provider_id AS resource_provider_id,
      resource_provider_aggregates.aggregate_id AS aggregate_id
    FROM resource_provider_aggregates
    WHERE false) AS resource_provider_aggregates_columns) AS anon_10, (SELECT count(*) AS count_11
  FROM (SELECT resource_providers.created_at AS created_at, resource_providers.updated_at AS
      updated_at, resource_providers.id AS id, resource_providers.uuid AS uuid,
      resource_providers.name AS name, resource_providers.generation AS generation,
      resource_providers.root_provider_id AS root_provider_id, resource_providers.parent_provider_id
      AS parent_provider_id, resource_providers.revision AS revision
    FROM resource_providers
    WHERE false) AS resource_providers_columns) AS anon_11, (SELECT count(*) AS count_12
  FROM (SELECT traits.created_at AS created_at, traits.updated_at AS updated_at, traits.id AS id,
      traits.name AS name
    FROM traits
    WHERE false) AS traits_columns) AS anon_12, (SELECT count(*) AS count_13
  FROM (SELECT tree_changes.provider_id AS provider_id, tree_changes.uuid AS uuid,
      tree_changes.revision AS revision, tree_changes.position AS position
    FROM tree_changes
    WHERE false) AS tree_changes_columns) AS anon_13, (SELECT count(*) AS count_14
  FROM (SELECT users.created_at AS created_at, users.updated_at AS updated_at, users.id AS id,
      users.external_id AS external_id
    FROM users
    WHERE false) AS users_columns) AS anon_14, (SELECT count(*) AS count_15
  FROM (SELECT consumers.created_at AS created_at, consumers.updated_at AS updated_at, consumers.id
      AS id, consumers.uuid AS uuid, consumers.project_id AS project_id, consumers.user_id AS
      user_id, consumers.generation AS generation, consumers.consumer_type_id AS consumer_type_id
    FROM consumers
    WHERE false) AS consumers_columns) AS anon_15, (SELECT count(*) AS count_16
  FROM (SELECT resource_provider_traits.created_at AS created_at,
      resource_provider_traits.updated_at AS updated_at, resource_provider_traits.trait_id AS
      trait_id, resource_provider_traits.resource_provider_id AS resource_provider_id
    FROM resource_provider_traits
    WHERE false) AS resource_provider_traits_columns) AS anon_16;


-- integrity.unowned_consumers: Select consumers whose project or user does not exist.
SELECT consumers.uuid AS consumer, consumers.project_id, consumers.user_id
FROM consumers
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM projects
    WHERE projects.id = consumers.project_id)) OR NOT (EXISTS (SELECT 1 AS anon_2
    FROM users
    WHERE users.id = consumers.user_id));


-- integrity.unrecorded_among: Select the uuids, of a few, that have allocations but no record.
-- on sqlite, postgresql
SELECT DISTINCT allocations.consumer_id AS consumer
FROM allocations
WHERE allocations.consumer_id IN (:ids …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE consumers.uuid = allocations.consumer_id));
-- on mysql
SELECT DISTINCT allocations.consumer_id AS consumer
FROM allocations
WHERE allocations.consumer_id IN (:ids …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE (consumers.uuid = CONVERT(allocations.consumer_id USING ascii) AND allocations.consumer_id
        = CONVERT(consumers.uuid USING ascii))));


-- integrity.unrecorded_consumers: Select the uuids of consumers that have allocations but no record.
-- on sqlite, postgresql
SELECT DISTINCT allocations.consumer_id AS consumer
FROM allocations
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE consumers.uuid = allocations.consumer_id));
-- on mysql
SELECT DISTINCT allocations.consumer_id AS consumer
FROM allocations
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE (consumers.uuid = CONVERT(allocations.consumer_id USING ascii) AND allocations.consumer_id
        = CONVERT(consumers.uuid USING ascii))));
