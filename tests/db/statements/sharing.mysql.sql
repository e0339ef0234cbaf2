-- sharing.memberships: Select (provider id, uuid, root id, aggregate as stored) of all sharing providers.
SELECT resource_providers.id, resource_providers.uuid, resource_providers.root_provider_id,
    placement_aggregates.uuid AS uuid_1
FROM resource_providers INNER JOIN resource_provider_aggregates AS link ON link.resource_provider_id
    = resource_providers.id INNER JOIN placement_aggregates ON placement_aggregates.id =
    link.aggregate_id
WHERE resource_providers.id IN (SELECT resource_provider_traits.resource_provider_id
  FROM resource_provider_traits INNER JOIN traits ON traits.id = resource_provider_traits.trait_id
  WHERE traits.name = 'MISC_SHARES_VIA_AGGREGATE')
ORDER BY resource_providers.id;


-- sharing.reached_sets: Select the distinct sets of the aggregates that trees have members in.
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


-- sharing.with_trait: Select the providers with the trait, their trees, aggregates and stock.
SELECT resource_providers.uuid, root.id AS root_id, root.revision, placement_aggregates.id AS
    aggregate_id, placement_aggregates.uuid AS aggregate, inventories.resource_class_id AS class_id,
    inventories.capacity, inventories.used, inventories.min_unit, inventories.max_unit,
    inventories.step_size
FROM resource_providers INNER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN resource_provider_aggregates AS link ON
    link.resource_provider_id = resource_providers.id LEFT OUTER JOIN placement_aggregates ON
    placement_aggregates.id = link.aggregate_id LEFT OUTER JOIN inventories ON
    inventories.resource_provider_id = resource_providers.id
WHERE root.parent_provider_id IS NULL AND resource_providers.id IN (SELECT
    resource_provider_traits.resource_provider_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = :trait)
ORDER BY resource_providers.id;
