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
WHERE (resource_providers.name = 'host' AND bytes_of_text(resource_providers.name) =
    bytes_of_text('host')) AND resource_providers.uuid IN ('c0ffee00-0000-4000-8000-000000000000')
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
WHERE resource_providers.root_provider_id = 1 AND resource_providers.id IN (SELECT
    resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (3)) AND resource_providers.id IN (SELECT
      resource_provider_traits.resource_provider_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id IN (1)) AND resource_providers.id IN (SELECT
      resource_provider_traits.resource_provider_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id IN (2)) AND resource_providers.id IN (SELECT
      inventories.resource_provider_id
  FROM inventories
  WHERE inventories.resource_class_id = 0 AND inventories.used + 1 <= inventories.capacity AND
      inventories.min_unit <= 1 AND inventories.max_unit >= 1 AND 1 % inventories.step_size = 0) AND
      NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (4))) AND NOT (EXISTS (SELECT 1 AS anon_2
    FROM resource_provider_aggregates
    WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id AND
        resource_provider_aggregates.aggregate_id IN (5)))
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
  WHERE resource_provider_aggregates.aggregate_id IN (0)) AND resource_providers.id IN (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (1)) AND resource_providers.id IN (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (2)) AND resource_providers.id IN (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (3)) AND resource_providers.id IN (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (4)) AND resource_providers.id IN (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (5)) AND (SELECT
      resource_provider_aggregates.resource_provider_id
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.aggregate_id IN (6) AND
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
WHERE resource_providers.uuid > :after AND resource_providers.root_provider_id = 1
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
  WHERE inventories.resource_class_id = 0 AND inventories.used + 1 <= inventories.capacity AND
      inventories.min_unit <= 1 AND inventories.max_unit >= 1 AND 1 % inventories.step_size = 0)
GROUP BY resource_providers.id >> 8;
