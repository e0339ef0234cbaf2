-- names.add: Insert entries.
INSERT INTO resource_classes (created_at, id, name)
VALUES (:created_at_m0, 10000, 'CUSTOM_A');

-- names.add_unless_present: Insert the names that do not exist yet. The database determines which names are equal.
INSERT INTO placement_aggregates (created_at, uuid)
VALUES (:created_at_m0, 'c0ffee00-0000-4000-8000-000000000000')
ON CONFLICT DO NOTHING;

-- names.all_names: Select (id, name) of a catalogue, by id. Without a limit, select all.
SELECT traits.id, traits.name
FROM traits
ORDER BY traits.id;

-- names.change_id: Change the id of an entry.
UPDATE resource_classes
SET id=0
WHERE resource_classes.id = -1;

-- names.delete_unused: Delete a trait or class that has no uses. An entry with uses does not match.

-- of traits
DELETE FROM traits
WHERE traits.name = 'CUSTOM_A' AND (SELECT resource_provider_traits.trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = traits.id
  ORDER BY resource_provider_traits.trait_id, resource_provider_traits.resource_provider_id
  LIMIT 1) IS NULL;

-- of classes
DELETE FROM resource_classes
WHERE resource_classes.name = 'CUSTOM_A' AND (SELECT inventories.resource_class_id
  FROM inventories
  WHERE inventories.resource_class_id = resource_classes.id
  ORDER BY inventories.resource_class_id, inventories.max_unit
  LIMIT 1) IS NULL;

-- names.entries_with_times: Select (id, name, changed_at) of the entries in a catalogue, by id.

-- of one name
SELECT traits.id, traits.name, coalesce(traits.updated_at, traits.created_at) AS changed_at
FROM traits
WHERE traits.name IN ('CUSTOM_A')
ORDER BY traits.id;

-- with a prefix
SELECT traits.id, traits.name, coalesce(traits.updated_at, traits.created_at) AS changed_at
FROM traits
WHERE (traits.name LIKE 'CUSTOM/_' || '%' ESCAPE '/')
ORDER BY traits.id;

-- that providers have
SELECT traits.id, traits.name, coalesce(traits.updated_at, traits.created_at) AS changed_at
FROM traits
WHERE (SELECT resource_provider_traits.trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = traits.id
  ORDER BY resource_provider_traits.trait_id, resource_provider_traits.resource_provider_id
  LIMIT 1) IS NOT NULL
ORDER BY traits.id;

-- of which there is no inventory
SELECT resource_classes.id, resource_classes.name, coalesce(resource_classes.updated_at,
    resource_classes.created_at) AS changed_at
FROM resource_classes
WHERE (SELECT inventories.resource_class_id
  FROM inventories
  WHERE inventories.resource_class_id = resource_classes.id
  ORDER BY inventories.resource_class_id, inventories.max_unit
  LIMIT 1) IS NULL
ORDER BY resource_classes.id;

-- names.ids: Select (kind, id, text, number) for names of several kinds, a thousand in one statement.
SELECT 'resource_class' AS kind, resource_classes.id, any_text(resource_classes.name) AS text, 0 AS
    number
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …);

-- names.lock_exclusive: Select the id of an entry and lock the entry.
SELECT resource_classes.id
FROM resource_classes
WHERE resource_classes.name = 'CUSTOM_A' FOR UPDATE;

-- names.lock_shared: Select (id, name) of the existing entries, and lock the entries against changes.
SELECT resource_classes.id, resource_classes.name
FROM resource_classes
WHERE resource_classes.id IN (:ids …) FOR SHARE;

-- names.newest: Select the largest id in a catalogue, or null.
SELECT max(resource_classes.id) AS max_1
FROM resource_classes;

-- names.rename_resource_class: Change the name of a class.
UPDATE resource_classes
SET updated_at=:updated_at, name='CUSTOM_B'
WHERE resource_classes.name = 'CUSTOM_A';

-- names.with_trees: Select rows like `ids`, and a row ("tree", root id, text, number) for each provider.

-- of names and a provider
SELECT 'resource_class' AS kind, resource_classes.id, any_text(resource_classes.name) AS text, 0 AS
    number
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …)
UNION ALL
SELECT 'project' AS kind, projects.id, any_text(projects.external_id) AS text, 0 AS number
FROM projects
WHERE projects.external_id IN (:project …)
UNION ALL
SELECT 'tree' AS kind, root.id, any_text(resource_providers.uuid) AS text, root.revision AS number
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:providers …);

-- of a request for candidates
SELECT 'resource_class' AS kind, resource_classes.id, any_text(resource_classes.name) AS text, 0 AS
    number
FROM resource_classes
WHERE resource_classes.name IN (:resource_class …)
UNION ALL
SELECT 'trait' AS kind, traits.id, any_text(traits.name) AS text, 0 AS number
FROM traits
WHERE traits.name IN (:trait …)
UNION ALL
SELECT 'aggregate' AS kind, placement_aggregates.id, any_text(placement_aggregates.uuid) AS text, 0
    AS number
FROM placement_aggregates
WHERE placement_aggregates.uuid IN (:aggregate …)
UNION ALL
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
    WHERE inventories.resource_provider_id = sharing.id), '[]') || ']' AS text, sharing.trait_id AS
        number
FROM (SELECT resource_provider_traits.resource_provider_id AS id, resource_provider_traits.trait_id
  FROM resource_provider_traits
  WHERE resource_provider_traits.trait_id = (SELECT traits.id
    FROM traits
    WHERE traits.name = 'MISC_SHARES_VIA_AGGREGATE')
  ORDER BY resource_provider_traits.resource_provider_id
  LIMIT 100) AS sharing
UNION ALL
SELECT 'tree' AS kind, root.id, any_text(resource_providers.uuid) AS text, root.revision AS number
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:providers …);

-- of each further kind
SELECT 'user' AS kind, users.id, any_text(users.external_id) AS text, 0 AS number
FROM users
WHERE users.external_id IN (:user …)
UNION ALL
SELECT 'roots' AS kind, 0 AS id, json_rows(roots.id, roots.revision) AS text, 0 AS number
FROM (SELECT resource_providers.id, CASE WHEN (resource_providers.root_provider_id =
    resource_providers.id) THEN resource_providers.revision END AS revision
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL
  ORDER BY resource_providers.id
  LIMIT 64) AS roots
UNION ALL
SELECT 'spread' AS kind, root.id, any_text(root.uuid) AS text, count(DISTINCT claim_records.id) AS
    number
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) JOIN projects ON projects.id = consumers.project_id
    JOIN allocations ON (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(allocations.consumer_id)) JOIN resource_providers ON resource_providers.id =
    allocations.resource_provider_id JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE (projects.external_id = :spread_project AND bytes_of_text(projects.external_id) =
    bytes_of_text(:spread_project)) AND claim_records.spread_group = :spread_group AND
    claim_records.spread_group IS NOT NULL AND claim_records.project_id = consumers.project_id AND
    NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = root.id AND traits.name =
        'MISC_SHARES_VIA_AGGREGATE'))
GROUP BY root.id, root.uuid
UNION ALL
SELECT 'named' AS kind, resource_providers.id, any_text(resource_providers.name) AS text, 0 AS
    number
FROM resource_providers
WHERE resource_providers.name IN (:names …)
UNION ALL
SELECT 'tree' AS kind, root.id, any_text(resource_providers.uuid) AS text, root.revision AS number
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:providers …);
