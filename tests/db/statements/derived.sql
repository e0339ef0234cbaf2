-- derived.capacities: Select (id, amounts, capacity) of the inventories in these trees.
SELECT STRAIGHT_JOIN inventories.id, inventories.total, inventories.reserved,
    inventories.allocation_ratio, inventories.capacity
FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
WHERE resource_providers.root_provider_id IN (:ids …);

-- derived.distinct_capacities: Select the distinct capacities in these trees, with their amounts.
SELECT STRAIGHT_JOIN DISTINCT inventories.total, inventories.reserved, inventories.allocation_ratio,
    inventories.capacity
FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
WHERE resource_providers.root_provider_id IN (:ids …);

-- derived.number_of_roots: Count the roots.
SELECT count(*) AS count_1
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL;

-- derived.roots: Select the ids of the next roots, by id. With `lock`, lock the roots in this order.

-- as they are
SELECT resource_providers.id
FROM resource_providers FORCE INDEX (PRIMARY)
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 100;

-- with their locks
SELECT resource_providers.id
FROM resource_providers FORCE INDEX (PRIMARY)
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 100 FOR NO KEY UPDATE;

-- derived.roots_without_revision: Select roots without a revision.
SELECT resource_providers.uuid AS provider
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0;

-- derived.set_column: Set `used` or `capacity` of inventories, by id.
UPDATE inventories
SET used=CASE inventories.id WHEN :id_0 THEN :value_0 END
WHERE inventories.id IN (:ids …);

-- derived.wrong_used: Select (id, right) of the inventories in these trees whose `used` is wrong.
SELECT STRAIGHT_JOIN inventories.id, (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) AS "right"
FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
WHERE resource_providers.root_provider_id IN (:ids …) AND inventories.used != (SELECT
    coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id);
