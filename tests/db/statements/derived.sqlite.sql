-- derived.inventories: Select the next inventories by id, with what their derived columns follow from.
SELECT inventories.id, inventories.resource_provider_id, inventories.resource_class_id,
    inventories.total, inventories.reserved, inventories.allocation_ratio, inventories.used,
    inventories.capacity
FROM inventories
WHERE inventories.id > 0
ORDER BY inventories.id
LIMIT 1000 OFFSET 0;


-- derived.roots: Select the ids of the next roots, once no other transaction has locked them.
SELECT resource_providers.id
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id > 0
ORDER BY resource_providers.id
LIMIT 1000 OFFSET 0;


-- derived.set_column: Set `used` or `capacity` of inventories, by id.
UPDATE inventories
SET used=CASE inventories.id WHEN :id_0 THEN :value_0 END
WHERE inventories.id IN (:ids …);


-- derived.set_revisions: Set the revisions of roots, by id.
UPDATE resource_providers
SET revision=CASE resource_providers.id WHEN :id_0 THEN :value_0 END
WHERE resource_providers.id IN (:ids …);


-- derived.sums: Select (provider id, class id, used) of all allocations.
SELECT allocations.resource_provider_id, allocations.resource_class_id, sum(allocations.used) AS
    used
FROM allocations
GROUP BY allocations.resource_provider_id, allocations.resource_class_id;


-- derived.uncounted_roots: Select roots whose derived columns have never been filled: their revision is 0.
SELECT resource_providers.uuid AS provider
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0;
