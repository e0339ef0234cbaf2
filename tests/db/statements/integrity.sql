-- integrity.allocations_without_inventory: Select allocations of a class of which their provider has no inventory.
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    allocations.consumer_id AS consumer, allocations.used
FROM allocations JOIN resource_providers ON resource_providers.id = allocations.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = allocations.resource_class_id
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM inventories
    WHERE inventories.resource_provider_id = allocations.resource_provider_id AND
        inventories.resource_class_id = allocations.resource_class_id));

-- integrity.count: Select the number of rows of another statement.

-- of others
SELECT count(*) AS count_1
FROM (SELECT resource_providers.uuid AS provider
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0) AS
      anon_1;

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
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE claim_records.hold_generation = consumers.generation AND claim_records.expires_at <= (clock()
    / 1000);

-- integrity.examples: Select the first rows of a statement, or all rows if `size` is None.

-- of others
SELECT resource_providers.uuid AS provider
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0
ORDER BY provider
LIMIT 3;

-- integrity.forest: Select (id, uuid, parent id, root id) of the next providers, by id.
SELECT resource_providers.id, resource_providers.uuid, resource_providers.parent_provider_id AS
    parent_id, resource_providers.root_provider_id AS root_id
FROM resource_providers
WHERE resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 1000;

-- integrity.idle_consumers: Select consumers that have no allocations.
SELECT consumers.uuid AS consumer
FROM consumers
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE (consumers.uuid = ascii_text(allocations.consumer_id) AND allocations.consumer_id =
        ascii_text(consumers.uuid))));

-- integrity.inventories_of_unknown_class: Select inventories whose class does not exist.
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.resource_class_id
FROM inventories JOIN resource_providers ON resource_providers.id = inventories.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
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
SELECT resource_providers.uuid AS provider, coalesce(resource_classes.name, '?') AS class,
    inventories.used, inventories.capacity, inventories.id
FROM inventories JOIN resource_providers ON resource_providers.id = inventories.resource_provider_id
    LEFT OUTER JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.id IN (:ids …);

-- integrity.positions: Select (id, uuid, parent id, root id) of providers.
SELECT resource_providers.id, resource_providers.uuid, resource_providers.parent_provider_id AS
    parent_id, resource_providers.root_provider_id AS root_id
FROM resource_providers
WHERE resource_providers.id IN (:ids …);

-- integrity.record_consumers: Insert records with generation 0 and without a type.
INSERT INTO consumers (uuid, project_id, user_id, generation, created_at)
VALUES (:uuid_0, :project_id_0, :user_id_0, :generation_0, :created_at_0);

-- integrity.records_without_consumer: Select claim records that belong to no consumer.
SELECT claim_records.consumer_uuid AS consumer, claim_records.spread_group
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
        ascii_text(consumers.uuid) AND consumers.uuid = ascii_text(claim_records.consumer_uuid)) AND
        claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)));

-- integrity.rootless: Select (id, parent id) of the first providers without a root id, or all if `size` is None.
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
SELECT (SELECT count(*) AS count_1
  FROM (SELECT allocations.created_at, allocations.updated_at, allocations.id,
      allocations.resource_provider_id, allocations.consumer_id, allocations.resource_class_id,
      allocations.used
    FROM allocations
    WHERE 0 = 1) AS allocations_columns) AS anon_1, (SELECT count(*) AS count_2
  FROM (SELECT change_batches.position, change_batches.token, change_batches.numbered_at
    FROM change_batches
    WHERE 0 = 1) AS change_batches_columns) AS anon_2, (SELECT count(*) AS count_3
  FROM (SELECT change_feed.id, change_feed.position, change_feed.token, change_feed.numbered_at,
      change_feed.revision_sum
    FROM change_feed
    WHERE 0 = 1) AS change_feed_columns) AS anon_3, (SELECT count(*) AS count_4
  FROM (SELECT claim_records.created_at, claim_records.updated_at, claim_records.id,
      claim_records.consumer_id, claim_records.consumer_uuid, claim_records.consumer_created_at,
      claim_records.project_id, claim_records.spread_group, claim_records.max_per_host,
      claim_records.hold_generation, claim_records.held_since, claim_records.expires_at,
      claim_records.mappings, claim_records.request
    FROM claim_records
    WHERE 0 = 1) AS claim_records_columns) AS anon_4, (SELECT count(*) AS count_5
  FROM (SELECT consumer_types.created_at, consumer_types.updated_at, consumer_types.id,
      consumer_types.name
    FROM consumer_types
    WHERE 0 = 1) AS consumer_types_columns) AS anon_5, (SELECT count(*) AS count_6
  FROM (SELECT inventories.created_at, inventories.updated_at, inventories.id,
      inventories.resource_provider_id, inventories.resource_class_id, inventories.total,
      inventories.reserved, inventories.min_unit, inventories.max_unit, inventories.step_size,
      inventories.allocation_ratio, inventories.used, inventories.capacity
    FROM inventories
    WHERE 0 = 1) AS inventories_columns) AS anon_6, (SELECT count(*) AS count_7
  FROM (SELECT placement_aggregates.created_at, placement_aggregates.updated_at,
      placement_aggregates.id, placement_aggregates.uuid
    FROM placement_aggregates
    WHERE 0 = 1) AS placement_aggregates_columns) AS anon_7, (SELECT count(*) AS count_8
  FROM (SELECT projects.created_at, projects.updated_at, projects.id, projects.external_id
    FROM projects
    WHERE 0 = 1) AS projects_columns) AS anon_8, (SELECT count(*) AS count_9
  FROM (SELECT resource_classes.created_at, resource_classes.updated_at, resource_classes.id,
      resource_classes.name
    FROM resource_classes
    WHERE 0 = 1) AS resource_classes_columns) AS anon_9, (SELECT count(*) AS count_10
  FROM (SELECT resource_provider_aggregates.created_at, resource_provider_aggregates.updated_at,
      resource_provider_aggregates.resource_provider_id, resource_provider_aggregates.aggregate_id
    FROM resource_provider_aggregates
    WHERE 0 = 1) AS resource_provider_aggregates_columns) AS anon_10, (SELECT count(*) AS count_11
  FROM (SELECT resource_providers.created_at, resource_providers.updated_at, resource_providers.id,
      resource_providers.uuid, resource_providers.name, resource_providers.generation,
      resource_providers.root_provider_id, resource_providers.parent_provider_id,
      resource_providers.revision
    FROM resource_providers
    WHERE 0 = 1) AS resource_providers_columns) AS anon_11, (SELECT count(*) AS count_12
  FROM (SELECT traits.created_at, traits.updated_at, traits.id, traits.name
    FROM traits
    WHERE 0 = 1) AS traits_columns) AS anon_12, (SELECT count(*) AS count_13
  FROM (SELECT tree_changes.provider_id, tree_changes.uuid, tree_changes.revision,
      tree_changes.position
    FROM tree_changes
    WHERE 0 = 1) AS tree_changes_columns) AS anon_13, (SELECT count(*) AS count_14
  FROM (SELECT users.created_at, users.updated_at, users.id, users.external_id
    FROM users
    WHERE 0 = 1) AS users_columns) AS anon_14, (SELECT count(*) AS count_15
  FROM (SELECT consumers.created_at, consumers.updated_at, consumers.id, consumers.uuid,
      consumers.project_id, consumers.user_id, consumers.generation, consumers.consumer_type_id
    FROM consumers
    WHERE 0 = 1) AS consumers_columns) AS anon_15, (SELECT count(*) AS count_16
  FROM (SELECT resource_provider_traits.created_at, resource_provider_traits.updated_at,
      resource_provider_traits.trait_id, resource_provider_traits.resource_provider_id
    FROM resource_provider_traits
    WHERE 0 = 1) AS resource_provider_traits_columns) AS anon_16;

-- integrity.unowned_consumers: Select consumers whose project or user does not exist.
SELECT consumers.uuid AS consumer, consumers.project_id, consumers.user_id
FROM consumers
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM projects
    WHERE projects.id = consumers.project_id)) OR NOT (EXISTS (SELECT 1 AS anon_2
    FROM users
    WHERE users.id = consumers.user_id));

-- integrity.unrecorded_among: Select the uuids, of a few, that have allocations but no record.
SELECT DISTINCT allocations.consumer_id AS consumer
FROM allocations
WHERE allocations.consumer_id IN (:ids …) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE (consumers.uuid = ascii_text(allocations.consumer_id) AND allocations.consumer_id =
        ascii_text(consumers.uuid))));

-- integrity.unrecorded_consumers: Select the uuids of consumers that have allocations but no record.
SELECT DISTINCT allocations.consumer_id AS consumer
FROM allocations
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE (consumers.uuid = ascii_text(allocations.consumer_id) AND allocations.consumer_id =
        ascii_text(consumers.uuid))));
