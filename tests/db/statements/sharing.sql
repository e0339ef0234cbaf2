-- sharing.memberships: Select (provider id, uuid, root id, aggregate uuid as stored) of all sharing providers.
SELECT resource_providers.id, resource_providers.uuid, resource_providers.root_provider_id,
    placement_aggregates.uuid AS uuid_1
FROM resource_providers JOIN resource_provider_aggregates AS link ON link.resource_provider_id =
    resource_providers.id JOIN placement_aggregates ON placement_aggregates.id = link.aggregate_id
WHERE resource_providers.id IN (SELECT resource_provider_traits.resource_provider_id
  FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
  WHERE traits.name = 'MISC_SHARES_VIA_AGGREGATE')
ORDER BY resource_providers.id;

-- sharing.others: Select sharing providers after an id, with the columns of `FIRST_PROVIDERS_WITH_TRAITS`.
SELECT 'sharing' AS kind, sharing.id, '[' || (SELECT json_row(root.id, CASE WHEN
    (root.parent_provider_id IS NULL) THEN root.revision END, resource_providers.uuid) AS json_row_1
  FROM resource_providers JOIN resource_providers AS root ON root.id =
      resource_providers.root_provider_id
  WHERE resource_providers.id = sharing.id) || ',' || coalesce((SELECT
      json_rows(placement_aggregates.id, placement_aggregates.uuid) AS json_rows_1
    FROM resource_provider_aggregates AS link JOIN placement_aggregates ON placement_aggregates.id =
        link.aggregate_id
    WHERE link.resource_provider_id = sharing.id), '[]') || ',' || coalesce((SELECT
        json_rows(inventories.resource_class_id, inventories.capacity, inventories.used,
        inventories.min_unit, inventories.max_unit, inventories.step_size) AS json_rows_2
    FROM inventories FORCE INDEX (uniq_inventories0resource_provider_resource_class)
    WHERE inventories.resource_provider_id = sharing.id), '[]') || ',' || coalesce((SELECT
        json_rows(resource_provider_traits.trait_id) AS json_rows_3
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = sharing.id), '[]') || ']' AS text,
        sharing.trait_id AS number
FROM (SELECT resource_provider_traits.resource_provider_id AS id, resource_provider_traits.trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = :trait AND resource_provider_traits.resource_provider_id
      > :after) AS sharing;

-- sharing.reached_sets: Select the distinct sets of aggregates that the members of trees are in.
SELECT DISTINCT sums.mask0
FROM (SELECT sum(CASE pairs.aggregate_id WHEN :slot_2 THEN 1 WHEN :slot_3 THEN 2 ELSE 0 END) AS
    mask0
  FROM (SELECT DISTINCT member.root_provider_id AS root_id, link.aggregate_id
    FROM resource_provider_aggregates AS link JOIN resource_providers AS member ON member.id =
        link.resource_provider_id
    WHERE link.aggregate_id IN (:slot_0 …) AND (SELECT count(*) AS count_1
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = member.root_provider_id AND
          resource_provider_traits.trait_id IN (:slot_1 …)) = 1) AS pairs
  GROUP BY pairs.root_id) AS sums;
