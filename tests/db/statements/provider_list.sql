-- provider_list.listed: Select the providers that satisfy the condition, by id.

-- all
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
                IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
                resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',',
                IFNULL(CONCAT('"', coalesce(resource_providers.updated_at,
                resource_providers.created_at), '"'), 'null'), ',', IFNULL(CASE WHEN
                (resource_providers.root_provider_id = resource_providers.id) THEN
                resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END,
            coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;

-- by name and uuid
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
FROM resource_providers
WHERE resource_providers.name = 'host' AND resource_providers.uuid IN
    ('c0ffee00-0000-4000-8000-000000000000')
GROUP BY resource_providers.id >> 8;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
                IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
                resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',',
                IFNULL(CONCAT('"', coalesce(resource_providers.updated_at,
                resource_providers.created_at), '"'), 'null'), ',', IFNULL(CASE WHEN
                (resource_providers.root_provider_id = resource_providers.id) THEN
                resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
FROM resource_providers
WHERE (resource_providers.name = 'host' AND CAST(CONVERT(resource_providers.name USING utf8mb4) AS
    BINARY) = CAST(CONVERT('host' USING utf8mb4) AS BINARY)) AND resource_providers.uuid IN
    ('c0ffee00-0000-4000-8000-000000000000')
GROUP BY resource_providers.id >> 8;
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END,
            coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
FROM resource_providers
WHERE resource_providers.name = 'host' AND resource_providers.uuid IN
    ('c0ffee00-0000-4000-8000-000000000000')
GROUP BY resource_providers.id >> 8;

-- by tree, traits, aggregates and room
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
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
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
                IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
                resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',',
                IFNULL(CONCAT('"', coalesce(resource_providers.updated_at,
                resource_providers.created_at), '"'), 'null'), ',', IFNULL(CASE WHEN
                (resource_providers.root_provider_id = resource_providers.id) THEN
                resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
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
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END,
            coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
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
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
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
  LIMIT 1 OFFSET 0) IS NOT NULL
GROUP BY resource_providers.id >> 8;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
                IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
                resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',',
                IFNULL(CONCAT('"', coalesce(resource_providers.updated_at,
                resource_providers.created_at), '"'), 'null'), ',', IFNULL(CASE WHEN
                (resource_providers.root_provider_id = resource_providers.id) THEN
                resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
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
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END,
            coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
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
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (:ids …)
GROUP BY resource_providers.id >> 8;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
                IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
                resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
            FROM resource_providers AS other
            WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',',
                IFNULL(CONCAT('"', coalesce(resource_providers.updated_at,
                resource_providers.created_at), '"'), 'null'), ',', IFNULL(CASE WHEN
                (resource_providers.root_provider_id = resource_providers.id) THEN
                resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (:ids …)
GROUP BY resource_providers.id >> 8;
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END,
            coalesce(resource_providers.updated_at, resource_providers.created_at), CASE WHEN
            (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (:ids …)
GROUP BY resource_providers.id >> 8;


-- provider_list.page: Select up to `size` rows of `listed` with a uuid after `after`, by uuid.

-- after one
-- on sqlite
SELECT json_array(resource_providers.id, resource_providers.uuid, resource_providers.name,
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
LIMIT :size OFFSET 0;
-- on mysql
SELECT CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
            IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
            resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',', IFNULL(CONCAT('"',
            coalesce(resource_providers.updated_at, resource_providers.created_at), '"'), 'null'),
            ',', IFNULL(CASE WHEN (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']') AS json_row_1
FROM resource_providers
WHERE resource_providers.uuid > :after
ORDER BY resource_providers.uuid
LIMIT :size;
-- on postgresql
SELECT CAST(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END) AS TEXT) AS json_row_1
FROM resource_providers
WHERE resource_providers.uuid > :after
ORDER BY resource_providers.uuid
LIMIT :size;

-- by tree
-- on sqlite
SELECT json_array(resource_providers.id, resource_providers.uuid, resource_providers.name,
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
LIMIT :size OFFSET 0;
-- on mysql
SELECT CONCAT('[', IFNULL(resource_providers.id, 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ',',
    IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(resource_providers.generation,
    'null'), ',', IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.parent_provider_id IS NOT NULL)
    THEN (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.parent_provider_id) END), 'null'), ',',
            IFNULL(JSON_QUOTE(CASE WHEN (resource_providers.root_provider_id =
            resource_providers.id) THEN resource_providers.uuid ELSE (SELECT other.uuid
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END), 'null'), ',', IFNULL(CONCAT('"',
            coalesce(resource_providers.updated_at, resource_providers.created_at), '"'), 'null'),
            ',', IFNULL(CASE WHEN (resource_providers.root_provider_id = resource_providers.id) THEN
            resource_providers.revision ELSE (SELECT other.revision
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']') AS json_row_1
FROM resource_providers
WHERE resource_providers.uuid > :after AND resource_providers.root_provider_id = 1
ORDER BY resource_providers.uuid
LIMIT :size;
-- on postgresql
SELECT CAST(json_build_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
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
      WHERE other.id = resource_providers.root_provider_id) END) AS TEXT) AS json_row_1
FROM resource_providers
WHERE resource_providers.uuid > :after AND resource_providers.root_provider_id = 1
ORDER BY resource_providers.uuid
LIMIT :size;


-- provider_list.revisions: Select the revisions of the same providers as `listed`, in blocks.

-- all
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, CASE WHEN
    (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.revision
    ELSE (SELECT other.revision
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',', IFNULL(CASE
    WHEN (resource_providers.root_provider_id = resource_providers.id) THEN
    resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, CASE WHEN
    (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.revision
    ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;

-- with room
-- on sqlite
SELECT json_group_array(json_array(resource_providers.id, CASE WHEN
    (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.revision
    ELSE (SELECT other.revision
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END)) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (SELECT inventories.resource_provider_id
  FROM inventories
  WHERE inventories.resource_class_id = 0 AND inventories.used + 1 <= inventories.capacity AND
      inventories.min_unit <= 1 AND inventories.max_unit >= 1 AND 1 % inventories.step_size = 0)
GROUP BY resource_providers.id >> 8;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',', IFNULL(CASE
    WHEN (resource_providers.root_provider_id = resource_providers.id) THEN
    resource_providers.revision ELSE (SELECT other.revision
          FROM resource_providers AS other
          WHERE other.id = resource_providers.root_provider_id) END, 'null'), ']')), ']') AS
              json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (SELECT inventories.resource_provider_id
  FROM inventories
  WHERE inventories.resource_class_id = 0 AND inventories.used + 1 <= inventories.capacity AND
      inventories.min_unit <= 1 AND inventories.max_unit >= 1 AND 1 % inventories.step_size = 0)
GROUP BY resource_providers.id >> 8;
-- on postgresql
SELECT CAST(json_agg(json_build_array(resource_providers.id, CASE WHEN
    (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.revision
    ELSE (SELECT other.revision
        FROM resource_providers AS other
        WHERE other.id = resource_providers.root_provider_id) END)) AS TEXT) AS json_rows_1
FROM resource_providers
WHERE resource_providers.id IN (SELECT inventories.resource_provider_id
  FROM inventories
  WHERE inventories.resource_class_id = 0 AND inventories.used + 1 <= inventories.capacity AND
      inventories.min_unit <= 1 AND inventories.max_unit >= 1 AND 1 % inventories.step_size = 0)
GROUP BY resource_providers.id >> 8;
