-- derived.capacities: Select (id, amounts, capacity) of the inventories in a window.
SELECT inventories.id, inventories.total, inventories.reserved, inventories.allocation_ratio,
    inventories.capacity
FROM inventories
WHERE inventories.id > 0 AND inventories.id <= 1000;


-- derived.distinct_capacities: Select the distinct capacities in a window, with their amounts.
SELECT DISTINCT inventories.total, inventories.reserved, inventories.allocation_ratio,
    inventories.capacity
FROM inventories
WHERE inventories.id > 0 AND inventories.id <= 1000;


-- derived.last_of_window: Select the last inventory id of the window that starts after an id.
-- on sqlite
SELECT max(anon_1.id) AS max_1
FROM (SELECT inventories.id AS id
  FROM inventories
  WHERE inventories.id > 0
  ORDER BY inventories.id
  LIMIT 10000 OFFSET 0) AS anon_1;
-- on mysql, postgresql
SELECT max(anon_1.id) AS max_1
FROM (SELECT inventories.id AS id
  FROM inventories
  WHERE inventories.id > 0
  ORDER BY inventories.id
  LIMIT 10000) AS anon_1;


-- derived.number_of_inventories: Count the inventories.
SELECT count(*) AS count_1
FROM inventories;


-- derived.number_of_roots: Count the roots.
SELECT count(*) AS count_1
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL;


-- derived.roots: Select the ids of the next roots and lock the roots.
-- on sqlite
SELECT resource_providers.id
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 10000 OFFSET 0;
-- on mysql, postgresql
SELECT resource_providers.id
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 10000 FOR UPDATE;


-- derived.roots_without_revision: Select roots without a revision.
SELECT resource_providers.uuid AS provider
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0;


-- derived.set_column: Set `used` or `capacity` of inventories, by id.
UPDATE inventories
SET used=CASE inventories.id WHEN :id_0 THEN :value_0 END
WHERE inventories.id IN (:ids …);


-- derived.set_revision: Set the revision of consecutive roots. The roots must be locked.
UPDATE resource_providers
SET revision=3
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id >= 1 AND
    resource_providers.id <= 2;


-- derived.wrong_used: Select (id, right) of the inventories in a window whose `used` is wrong.
-- on sqlite, postgresql
SELECT inventories.id, (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) AS "right"
FROM inventories
WHERE inventories.used != (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) AND inventories.id > 0 AND
      inventories.id <= 1000;
-- on mysql
SELECT inventories.id, (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) AS `right`
FROM inventories
WHERE inventories.used != (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) AND inventories.id > 0 AND
      inventories.id <= 1000;
