-- provider_list.listed: Select the providers that satisfy the condition, by id.

-- all
SELECT json_rows(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;

-- by name and uuid
SELECT json_rows(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
WHERE (resource_providers.name = :slot_0 AND bytes_of_text(resource_providers.name) =
    bytes_of_text(:slot_0)) AND resource_providers.uuid IN (:slot_1 …)
GROUP BY resource_providers.id >> 8;

-- by tree, traits, aggregates and room
SELECT json_rows(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
WHERE resource_providers.root_provider_id = :slot_0 AND resource_providers.id IN (SELECT
    resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_1 …)) AND resource_providers.id IN
      (SELECT resource_provider_traits.resource_provider_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id IN (:slot_2 …)) AND resource_providers.id IN (SELECT
      resource_provider_traits.resource_provider_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id IN (:slot_3 …)) AND resource_providers.id IN (SELECT
      inventories.resource_provider_id
  FROM inventories
  WHERE inventories.resource_class_id = :slot_4 AND inventories.used + :slot_5 <=
      inventories.capacity AND inventories.min_unit <= :slot_5 AND inventories.max_unit >= :slot_5
      AND :slot_5 % inventories.step_size = 0) AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (:slot_6 …))) AND NOT (EXISTS (SELECT 1 AS anon_2
    FROM resource_provider_aggregates
    WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id AND
        resource_provider_aggregates.aggregate_id IN (:slot_7 …)))
GROUP BY resource_providers.id >> 8;

-- by more conditions than are joined
SELECT json_rows(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (SELECT resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_0 …)) AND resource_providers.id IN
      (SELECT resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_1 …)) AND resource_providers.id IN
      (SELECT resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_2 …)) AND resource_providers.id IN
      (SELECT resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_3 …)) AND resource_providers.id IN
      (SELECT resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_4 …)) AND resource_providers.id IN
      (SELECT resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_5 …)) AND (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (:slot_6 …) AND
      resource_provider_aggregates.resource_provider_id = resource_providers.id
  LIMIT 1) IS NOT NULL
GROUP BY resource_providers.id >> 8;

-- provider_list.listed_with_ids: Select the rows of `listed` with these ids.
SELECT json_rows(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (:ids …)
GROUP BY resource_providers.id >> 8;

-- provider_list.page: Select up to `size` rows of `listed` with a uuid after `after`, by uuid.

-- after one
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_row_1
FROM resource_providers
WHERE resource_providers.uuid > :after
ORDER BY resource_providers.uuid
LIMIT :size;

-- by tree
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
        ELSE (SELECT other.uuid
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END,
        coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
        (resource_providers.root_provider_id = resource_providers.id) THEN
        resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_row_1
FROM resource_providers
WHERE resource_providers.uuid > :after AND resource_providers.root_provider_id = :slot_0
ORDER BY resource_providers.uuid
LIMIT :size;

-- provider_list.revisions: Select the revisions of the same providers as `listed`, in blocks.

-- all
SELECT json_rows(resource_providers.id, CASE WHEN (resource_providers.root_provider_id =
    resource_providers.id) THEN resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;

-- with room
SELECT json_rows(resource_providers.id, CASE WHEN (resource_providers.root_provider_id =
    resource_providers.id) THEN resource_providers.revision ELSE (SELECT other.revision
    FROM resource_providers AS other
    WHERE other.id = resource_providers.root_provider_id) END) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (SELECT inventories.resource_provider_id
  FROM inventories
  WHERE inventories.resource_class_id = :slot_0 AND inventories.used + :slot_1 <=
      inventories.capacity AND inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1
      AND :slot_1 % inventories.step_size = 0)
GROUP BY resource_providers.id >> 8;
