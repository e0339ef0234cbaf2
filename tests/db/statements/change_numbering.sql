-- change_numbering.changed: Select roots whose revision has not been numbered, each a `ChangedTree`.
SELECT json_rows(changed.id, changed.uuid, changed.known) AS json_rows_1
FROM (SELECT resource_providers.id, resource_providers.uuid, tree_changes.uuid AS known
  FROM resource_providers LEFT OUTER JOIN tree_changes ON tree_changes.provider_id =
      resource_providers.id
  WHERE coalesce(resource_providers.parent_provider_id, 0) = 0 AND (tree_changes.revision IS NULL OR
      tree_changes.revision != resource_providers.revision)
  LIMIT :size) AS changed;

-- change_numbering.delete_all: Delete all numbers and all records of numberings.
DELETE FROM tree_changes;
DELETE FROM change_batches;

-- change_numbering.delete_batches: Delete the records of numberings.
DELETE FROM change_batches
WHERE change_batches.position IN (:ids …);

-- change_numbering.delete_known: Delete the numbers of these roots.
DELETE FROM tree_changes
WHERE tree_changes.provider_id IN (:ids …);

-- change_numbering.delete_tombstones: Delete the numbers of the deletions of trees with these UUIDs.
DELETE FROM tree_changes
WHERE tree_changes.provider_id = 0 AND tree_changes.uuid IN (:ids …);

-- change_numbering.gone: Select (provider_id, uuid) of numbered trees whose root no longer exists.
SELECT tree_changes.provider_id, tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id != 0 AND NOT (EXISTS (SELECT resource_providers.id
    FROM resource_providers
    WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id =
        tree_changes.provider_id))
LIMIT :size;

-- change_numbering.insert_batch: Insert the record of a numbering.
INSERT INTO change_batches (position, token, numbered_at)
VALUES (:position_0, :token_0, :numbered_at_0);

-- change_numbering.insert_changed: Give numbers after `position` to the present revisions of roots.
INSERT INTO tree_changes (provider_id, uuid, revision, position) SELECT resource_providers.id,
    resource_providers.uuid, resource_providers.revision, :position + row_number() OVER (ORDER BY
    resource_providers.id) AS anon_1
FROM resource_providers
WHERE resource_providers.id IN (:ids …) AND resource_providers.parent_provider_id IS NULL;

-- change_numbering.insert_deleted: Give numbers after `position` to the deletions of trees.
INSERT INTO tree_changes (provider_id, uuid, revision, position)
VALUES (:provider_id_0, :uuid_0, :revision_0, :position_0);

-- change_numbering.insert_feed: Insert the feed.
INSERT INTO change_feed (id, position, token, numbered_at, revision_sum)
VALUES (:id_0, :position_0, :token_0, :numbered_at_0, :revision_sum_0);

-- change_numbering.insert_roots: Assign one number to all roots. The caller checks afterwards whether there are any roots.
INSERT INTO tree_changes (provider_id, uuid, revision, position) SELECT resource_providers.id,
    resource_providers.uuid, resource_providers.revision, 0 AS anon_1
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL;

-- change_numbering.known_sum: Select the sum of the numbered revisions. Deleted trees count as 0.
SELECT coalesce(sum(tree_changes.revision >> 22), 0) AS revision_sum
FROM tree_changes;

-- change_numbering.old_tombstones: Select the UUIDs of deleted trees whose deletion has this number or a lower one.
SELECT tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id = 0 AND tree_changes.position <= :position;

-- change_numbering.oldest_batches: Select (position, numbered_at) of the oldest numberings, in order.
SELECT change_batches.position, change_batches.numbered_at
FROM change_batches
ORDER BY change_batches.position
LIMIT 100;

-- change_numbering.roots: Select those of the UUIDs that a root has now.
SELECT resource_providers.uuid
FROM resource_providers
WHERE resource_providers.uuid IN (:ids …) AND resource_providers.parent_provider_id IS NULL;

-- change_numbering.sizes: Select one row: the number of rows of `tree_changes`, and that of `change_batches`.
SELECT (SELECT count(*) AS count_1
  FROM tree_changes) AS changes, (SELECT count(*) AS count_2
  FROM change_batches) AS batches;

-- change_numbering.tombstones: Select the UUIDs of numbered deletions.
SELECT tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id = 0 AND tree_changes.uuid IN (:ids …);

-- change_numbering.update_feed: Set all columns of the feed.
UPDATE change_feed
SET position=:position, token=:token, numbered_at=:numbered_at, revision_sum=:revision_sum
WHERE change_feed.id = 1;
