-- provider_trees.aggregate_ids: Select (provider id, aggregate id) of the providers' aggregates.
SELECT resource_provider_aggregates.resource_provider_id, resource_provider_aggregates.aggregate_id
FROM resource_provider_aggregates
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …);

-- provider_trees.create: Insert providers (UUID, name, generation, parent id) into the tree of a root.
INSERT INTO resource_providers (uuid, name, generation, parent_provider_id, root_provider_id,
    revision, created_at)
VALUES (:uuid_0, :name_0, :generation_0, :parent_provider_id_0, :root_provider_id_0, :revision_0,
    :created_at_0);

-- provider_trees.in_use: Select the ids of the providers that have allocations.
SELECT DISTINCT allocations.resource_provider_id
FROM allocations
WHERE allocations.resource_provider_id IN (:ids …);

-- provider_trees.members: Select the fields of `TreeMember` for all providers in the tree of a root.
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, parent.uuid, coalesce(root.id, 0), root.uuid,
    coalesce(root.revision, 0)) AS member
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id
WHERE root.uuid IN (:roots …);

-- provider_trees.members_and_others: Select the fields of `TreeMember`, for a tree and for providers with these UUIDs or names.
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, parent.uuid, coalesce(root.id, 0), root.uuid,
    coalesce(root.revision, 0)) AS member
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id
WHERE root.uuid IN (:roots …)
UNION ALL
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, parent.uuid, coalesce(root.id, 0), root.uuid,
    coalesce(root.revision, 0)) AS member
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id
WHERE resource_providers.uuid IN (:uuids …)
UNION ALL
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, parent.uuid, coalesce(root.id, 0), root.uuid,
    coalesce(root.revision, 0)) AS member
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id
WHERE resource_providers.name IN (:names …);

-- provider_trees.move: Set the parents of providers. The argument is id -> id of the parent, or None for a root.
UPDATE resource_providers
SET updated_at=:updated_at, parent_provider_id=CASE resource_providers.id WHEN :id_0 THEN :value_0
    END
WHERE resource_providers.id IN (:ids …);

-- provider_trees.rename: Set the names of providers, by id.
UPDATE resource_providers
SET updated_at=:updated_at, name=CASE resource_providers.id WHEN :id_0 THEN :value_0 END
WHERE resource_providers.id IN (:ids …);

-- provider_trees.with_uuid_or_name: Select the fields of `TreeMember`, and whether the database considers the name equal.
SELECT json_row(resource_providers.id, resource_providers.uuid, resource_providers.name,
    resource_providers.generation, parent.uuid, coalesce(root.id, 0), root.uuid,
    coalesce(root.revision, 0), CASE WHEN (resource_providers.name = :name) THEN 1 ELSE 0 END) AS
    json_row_1
FROM resource_providers LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id
WHERE resource_providers.uuid IN (:ids …) OR resource_providers.name = :name;
