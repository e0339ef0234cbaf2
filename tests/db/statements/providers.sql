-- providers.bump_generations: Add numbers to the generations of providers.
UPDATE resource_providers
SET updated_at=:now, generation=(resource_providers.generation + CASE resource_providers.id WHEN
    :id_0 THEN :increment_0 WHEN :id_1 THEN :increment_1 END)
WHERE resource_providers.id IN (:ids …) AND resource_providers.generation = CASE
    resource_providers.id WHEN :id_0 THEN :generation_0 WHEN :id_1 THEN :generation_1 END;
UPDATE resource_providers
SET updated_at=:now, generation=(resource_providers.generation + CASE resource_providers.id WHEN
    :id_0 THEN :increment_0 END)
WHERE resource_providers.id IN (:ids …);

-- providers.consumers_of: Select (uuid, number of consumers) of the providers with allocations.
SELECT resource_providers.uuid, count(DISTINCT allocations.consumer_id) AS consumers
FROM resource_providers JOIN allocations ON allocations.resource_provider_id = resource_providers.id
WHERE resource_providers.id IN (:ids …)
GROUP BY resource_providers.id, resource_providers.uuid
ORDER BY resource_providers.id;

-- providers.create: Insert a provider.
INSERT INTO resource_providers (created_at, uuid, name, generation, root_provider_id,
    parent_provider_id, revision)
VALUES (:created_at, :uuid, :name, :generation, :root_provider_id, :parent_provider_id, :revision);

-- providers.delete: Delete providers and the rows that belong to them.

-- a root with something of each
DELETE FROM inventories
WHERE inventories.resource_provider_id IN (:ids …);
DELETE FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …);
DELETE FROM resource_provider_aggregates
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …);
UPDATE resource_providers
SET root_provider_id=:root_provider_id
WHERE resource_providers.id IN (:ids …);
DELETE FROM resource_providers
WHERE resource_providers.id IN (:ids …);

-- providers below
DELETE FROM inventories
WHERE inventories.resource_provider_id IN (:ids …);
DELETE FROM resource_providers
WHERE resource_providers.id IN (:ids …);

-- providers.ids: Select (uuid, id, root id) of providers.
SELECT resource_providers.uuid, resource_providers.id, resource_providers.root_provider_id
FROM resource_providers
WHERE resource_providers.uuid IN (:ids …);

-- providers.members_of_tree: Select (id, parent id) of the members of a tree.
SELECT resource_providers.id, resource_providers.parent_provider_id
FROM resource_providers
WHERE resource_providers.root_provider_id = 1;

-- providers.roots_using_class: Select (id, revision) of the roots whose trees use a class, in inventories or allocations.
SELECT root.id, root.revision
FROM resource_providers AS root JOIN resource_providers ON resource_providers.root_provider_id =
    root.id JOIN inventories ON inventories.resource_provider_id = resource_providers.id
WHERE inventories.resource_class_id = 10000
UNION
SELECT root.id, root.revision
FROM resource_providers AS root JOIN resource_providers ON resource_providers.root_provider_id =
    root.id JOIN allocations ON allocations.resource_provider_id = resource_providers.id
WHERE allocations.resource_class_id = 10000;

-- providers.set_root: Move providers to the tree of a root.
UPDATE resource_providers
SET root_provider_id=:root_id
WHERE resource_providers.id IN (:ids …);

-- providers.with_all_fields: Select providers with all fields of `Provider`.
SELECT json_row(resource_providers.uuid, resource_providers.name, resource_providers.generation,
    parent.uuid, root.uuid, coalesce(resource_providers.updated_at, resource_providers.created_at),
    resource_providers.id, coalesce(root.revision, 0)) AS json_row_1
FROM resource_providers LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …)
ORDER BY resource_providers.id;
