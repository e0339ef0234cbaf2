-- sharing.memberships: Select (provider id, uuid, root id, aggregate uuid as stored) of all sharing providers.
-- on sqlite, postgresql
SELECT resource_providers.id, resource_providers.uuid, resource_providers.root_provider_id,
    placement_aggregates.uuid AS uuid_1
FROM resource_providers JOIN resource_provider_aggregates AS link ON link.resource_provider_id =
    resource_providers.id JOIN placement_aggregates ON placement_aggregates.id = link.aggregate_id
WHERE resource_providers.id IN (SELECT resource_provider_traits.resource_provider_id
  FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
  WHERE traits.name = 'MISC_SHARES_VIA_AGGREGATE')
ORDER BY resource_providers.id;
-- on mysql
SELECT resource_providers.id, resource_providers.uuid, resource_providers.root_provider_id,
    placement_aggregates.uuid AS uuid_1
FROM resource_providers INNER JOIN resource_provider_aggregates AS link ON link.resource_provider_id
    = resource_providers.id INNER JOIN placement_aggregates ON placement_aggregates.id =
    link.aggregate_id
WHERE resource_providers.id IN (SELECT resource_provider_traits.resource_provider_id
  FROM resource_provider_traits INNER JOIN traits ON traits.id = resource_provider_traits.trait_id
  WHERE traits.name = 'MISC_SHARES_VIA_AGGREGATE')
ORDER BY resource_providers.id;


-- sharing.others: Select sharing providers after an id, with the columns of `FIRST_PROVIDERS_WITH_TRAITS`.
-- on sqlite
SELECT 'sharing' AS kind, sharing.id, '[' || (SELECT json_array(root.id, root.revision,
    resource_providers.uuid) AS json_row_1
  FROM resource_providers JOIN resource_providers AS root ON root.id =
      resource_providers.root_provider_id
  WHERE resource_providers.id = sharing.id AND root.parent_provider_id IS NULL) || ',' ||
      coalesce((SELECT json_group_array(json_array(placement_aggregates.id,
      placement_aggregates.uuid)) AS json_rows_1
    FROM resource_provider_aggregates AS link JOIN placement_aggregates ON placement_aggregates.id =
        link.aggregate_id
    WHERE link.resource_provider_id = sharing.id), '[]') || ',' || coalesce((SELECT
        json_group_array(json_array(inventories.resource_class_id, inventories.capacity,
        inventories.used, inventories.min_unit, inventories.max_unit, inventories.step_size)) AS
        json_rows_2
    FROM inventories
    WHERE inventories.resource_provider_id = sharing.id), '[]') || ',' || coalesce((SELECT
        json_group_array(json_array(resource_provider_traits.trait_id)) AS json_rows_3
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = sharing.id), '[]') || ']' AS text,
        sharing.trait_id AS number
FROM (SELECT resource_provider_traits.resource_provider_id AS id, resource_provider_traits.trait_id
    AS trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = :trait AND resource_provider_traits.resource_provider_id
      > :after) AS sharing;
-- on mysql
SELECT 'sharing' AS kind, sharing.id, concat('[', (SELECT CONCAT('[', IFNULL(root.id, 'null'), ',',
    IFNULL(root.revision, 'null'), ',', IFNULL(JSON_QUOTE(resource_providers.uuid), 'null'), ']') AS
    json_row_1
    FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
        resource_providers.root_provider_id
    WHERE resource_providers.id = sharing.id AND root.parent_provider_id IS NULL), ',',
        coalesce((SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(placement_aggregates.id,
        'null'), ',', IFNULL(JSON_QUOTE(placement_aggregates.uuid), 'null'), ']')), ']') AS
        json_rows_1
      FROM resource_provider_aggregates AS link INNER JOIN placement_aggregates ON
          placement_aggregates.id = link.aggregate_id
      WHERE link.resource_provider_id = sharing.id), '[]'), ',', coalesce((SELECT CONCAT('[',
          GROUP_CONCAT(CONCAT('[', IFNULL(inventories.resource_class_id, 'null'), ',',
          IFNULL(inventories.capacity, 'null'), ',', IFNULL(inventories.used, 'null'), ',',
          IFNULL(inventories.min_unit, 'null'), ',', IFNULL(inventories.max_unit, 'null'), ',',
          IFNULL(inventories.step_size, 'null'), ']')), ']') AS json_rows_2
      FROM inventories
      WHERE inventories.resource_provider_id = sharing.id), '[]'), ',', coalesce((SELECT CONCAT('[',
          GROUP_CONCAT(CONCAT('[', IFNULL(resource_provider_traits.trait_id, 'null'), ']')), ']') AS
          json_rows_3
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = sharing.id), '[]'), ']') AS text,
          sharing.trait_id AS number
FROM (SELECT resource_provider_traits.resource_provider_id AS id, resource_provider_traits.trait_id
    AS trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = :trait AND resource_provider_traits.resource_provider_id
      > :after) AS sharing;
-- on postgresql
SELECT 'sharing' AS kind, sharing.id, '[' || (SELECT CAST(json_build_array(root.id, root.revision,
    resource_providers.uuid) AS TEXT) AS json_row_1
  FROM resource_providers JOIN resource_providers AS root ON root.id =
      resource_providers.root_provider_id
  WHERE resource_providers.id = sharing.id AND root.parent_provider_id IS NULL) || ',' ||
      coalesce((SELECT CAST(json_agg(json_build_array(placement_aggregates.id,
      placement_aggregates.uuid)) AS TEXT) AS json_rows_1
    FROM resource_provider_aggregates AS link JOIN placement_aggregates ON placement_aggregates.id =
        link.aggregate_id
    WHERE link.resource_provider_id = sharing.id), '[]') || ',' || coalesce((SELECT
        CAST(json_agg(json_build_array(inventories.resource_class_id, inventories.capacity,
        inventories.used, inventories.min_unit, inventories.max_unit, inventories.step_size)) AS
        TEXT) AS json_rows_2
    FROM inventories
    WHERE inventories.resource_provider_id = sharing.id), '[]') || ',' || coalesce((SELECT
        CAST(json_agg(json_build_array(resource_provider_traits.trait_id)) AS TEXT) AS json_rows_3
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = sharing.id), '[]') || ']' AS text,
        sharing.trait_id AS number
FROM (SELECT resource_provider_traits.resource_provider_id AS id, resource_provider_traits.trait_id
    AS trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = :trait AND resource_provider_traits.resource_provider_id
      > :after) AS sharing;


-- sharing.reached_sets: Select the distinct sets of aggregates that the members of trees are in.
-- on sqlite, postgresql
SELECT DISTINCT sums.mask0
FROM (SELECT sum(CASE pairs.aggregate_id WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 0 END) AS mask0
  FROM (SELECT DISTINCT member.root_provider_id AS root_id, link.aggregate_id AS aggregate_id
    FROM resource_provider_aggregates AS link JOIN resource_providers AS member ON member.id =
        link.resource_provider_id
    WHERE link.aggregate_id IN (1, 2) AND (SELECT count(*) AS count_1
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = member.root_provider_id AND
          resource_provider_traits.trait_id IN (1)) = 1) AS pairs
  GROUP BY pairs.root_id) AS sums;
-- on mysql
SELECT DISTINCT sums.mask0
FROM (SELECT sum(CASE pairs.aggregate_id WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 0 END) AS mask0
  FROM (SELECT DISTINCT `member`.root_provider_id AS root_id, link.aggregate_id AS aggregate_id
    FROM resource_provider_aggregates AS link INNER JOIN resource_providers AS `member` ON
        `member`.id = link.resource_provider_id
    WHERE link.aggregate_id IN (1, 2) AND (SELECT count(*) AS count_1
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = `member`.root_provider_id AND
          resource_provider_traits.trait_id IN (1)) = 1) AS pairs
  GROUP BY pairs.root_id) AS sums;
