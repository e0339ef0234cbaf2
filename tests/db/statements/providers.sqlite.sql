-- providers.bump_generations: Add to the generations of providers, by id.
UPDATE resource_providers
SET updated_at=:now, generation=(resource_providers.generation + CASE resource_providers.id WHEN
    :key_0 THEN :step_0 WHEN :key_1 THEN :step_1 END)
WHERE resource_providers.id IN (:ids …);


-- providers.clashing: Select (id, uuid) of the providers that hold the uuid or the name.
SELECT resource_providers.id, resource_providers.uuid
FROM resource_providers
WHERE resource_providers.name = :name OR resource_providers.uuid = :uuid;


-- providers.create: Insert a provider; a root gets its root id afterwards by `set_root`.
INSERT INTO resource_providers (created_at, uuid, name, generation, root_provider_id,
    parent_provider_id, revision)
VALUES (:created_at, :uuid, :name, :generation, :root_provider_id, :parent_provider_id, :revision);


-- providers.delete: Delete a provider and what belongs to it alone, first what refers to it.
DELETE FROM inventories
WHERE inventories.resource_provider_id = 1;
DELETE FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id = 1;
DELETE FROM resource_provider_aggregates
WHERE resource_provider_aggregates.resource_provider_id = 1;
UPDATE resource_providers
SET root_provider_id=:root_provider_id
WHERE resource_providers.id = 1;
DELETE FROM resource_providers
WHERE resource_providers.id = 1;


-- providers.dependants: Select one row of what depends on a provider.
SELECT (SELECT count(*) AS count_1
  FROM inventories
  WHERE inventories.resource_provider_id = 1) AS inventories, (SELECT count(*) AS count_2
  FROM resource_provider_traits
  WHERE resource_provider_traits.resource_provider_id = 1) AS traits, (SELECT count(*) AS count_3
  FROM resource_provider_aggregates
  WHERE resource_provider_aggregates.resource_provider_id = 1) AS aggregates, CASE WHEN (EXISTS
      (SELECT *
    FROM resource_providers AS other
    WHERE other.parent_provider_id = 1)) THEN 1 ELSE 0 END AS children, CASE WHEN (EXISTS (SELECT *
    FROM allocations
    WHERE allocations.resource_provider_id = 1)) THEN 1 ELSE 0 END AS allocations;


-- providers.listed: Select the id and the other fields of `Provider`, in the order of ids.

-- all
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
          (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
          ELSE (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END,
          coalesce(resource_providers.updated_at, resource_providers.created_at))) AS json_rows_1
FROM resource_providers
GROUP BY resource_providers.id >> 8;

-- by name and uuid
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
          (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
          ELSE (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END,
          coalesce(resource_providers.updated_at, resource_providers.created_at))) AS json_rows_1
FROM resource_providers
WHERE resource_providers.name = 'host' AND resource_providers.uuid IN
    ('c0ffee00-0000-4000-8000-000000000000')
GROUP BY resource_providers.id >> 8;

-- by tree, traits, aggregates and room
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
          (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
          ELSE (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END,
          coalesce(resource_providers.updated_at, resource_providers.created_at))) AS json_rows_1
FROM resource_providers
WHERE resource_providers.root_provider_id = 1 AND (SELECT count(*) AS count_1
  FROM resource_provider_traits
  WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
      resource_provider_traits.trait_id IN (1, 2)) = 2 AND (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_aggregates
    WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id AND
        resource_provider_aggregates.aggregate_id IN (3))) AND (EXISTS (SELECT 1 AS anon_2
    FROM inventories
    WHERE inventories.resource_provider_id = resource_providers.id AND inventories.resource_class_id
        = 0 AND inventories.used + 1 <= inventories.capacity AND inventories.min_unit <= 1 AND
        inventories.max_unit >= 1 AND 1 % inventories.step_size = 0)) AND NOT (EXISTS (SELECT 1 AS
        anon_3
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (4)))
GROUP BY resource_providers.id >> 8;

-- by more conditions than are joined
SELECT json_group_array(json_array(resource_providers.id, resource_providers.uuid,
    resource_providers.name, resource_providers.generation, CASE WHEN
    (resource_providers.parent_provider_id IS NOT NULL) THEN (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.parent_provider_id) END, CASE WHEN
          (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.uuid
          ELSE (SELECT other.uuid
      FROM resource_providers AS other
      WHERE other.id = resource_providers.root_provider_id) END,
          coalesce(resource_providers.updated_at, resource_providers.created_at))) AS json_rows_1
FROM resource_providers
WHERE (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (0))) AND (EXISTS (SELECT 1 AS anon_2
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (1))) AND (EXISTS (SELECT 1 AS anon_3
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (2))) AND (EXISTS (SELECT 1 AS anon_4
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (3))) AND (EXISTS (SELECT 1 AS anon_5
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (4))) AND (EXISTS (SELECT 1 AS anon_6
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
        resource_provider_traits.trait_id IN (5))) AND (SELECT 1 AS anon_7
  FROM resource_provider_traits
  WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND
      resource_provider_traits.trait_id IN (6)
  LIMIT 1 OFFSET 0) IS NOT NULL
GROUP BY resource_providers.id >> 8;


-- providers.locked: Select what writes look at of the providers named; a row is a `LockedProvider`.
SELECT resource_providers.uuid, resource_providers.generation, resource_providers.id,
    resource_providers.root_provider_id, resource_providers.parent_provider_id
FROM resource_providers
WHERE resource_providers.uuid IN (:uuids …);


-- providers.members_of_tree: Select (id, parent id) of a tree's members.
SELECT resource_providers.id, resource_providers.parent_provider_id
FROM resource_providers
WHERE resource_providers.root_provider_id = 1;


-- providers.rename: Set name and parent.
UPDATE resource_providers
SET updated_at=:updated_at, name='host', parent_provider_id=:parent_provider_id
WHERE resource_providers.id = 1;


-- providers.renew_revisions: Give the trees a new revision; with it this transaction owns them until its end.
UPDATE resource_providers
SET revision=:new_revision
WHERE resource_providers.id IN (:ids …);


-- providers.revisions: Select (id, revision) of trees, once no other transaction has them.
SELECT resource_providers.id, resource_providers.revision
FROM resource_providers
WHERE resource_providers.id IN (1);


-- providers.roots_stocking: Select (id, revision) of the roots of the trees that have an inventory of the class.
SELECT DISTINCT root.id, root.revision
FROM resource_providers AS root JOIN resource_providers ON resource_providers.root_provider_id =
    root.id JOIN inventories ON inventories.resource_provider_id = resource_providers.id JOIN
    resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE resource_classes.name = 'CUSTOM_A';


-- providers.set_root: Make the providers members of the root's tree.
UPDATE resource_providers
SET root_provider_id=:root_id
WHERE resource_providers.id IN (:ids …);


-- providers.whole: Select all of the providers named; a row is a `Provider`.
SELECT resource_providers.uuid, resource_providers.name, resource_providers.generation, parent.uuid
    AS parent_uuid, root.uuid AS root_uuid, coalesce(resource_providers.updated_at,
    resource_providers.created_at) AS changed_at, resource_providers.id
FROM resource_providers LEFT OUTER JOIN resource_providers AS parent ON parent.id =
    resource_providers.parent_provider_id LEFT OUTER JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:uuids …)
ORDER BY resource_providers.id;
