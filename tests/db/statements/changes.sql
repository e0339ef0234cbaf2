-- changes.changed: Select (id, uuid, revision, known) of roots whose revision has not been numbered.
-- on sqlite
SELECT resource_providers.id, resource_providers.uuid, resource_providers.revision,
    tree_changes.uuid AS known
FROM resource_providers LEFT OUTER JOIN tree_changes ON tree_changes.provider_id =
    resource_providers.id
WHERE resource_providers.parent_provider_id IS NULL AND (tree_changes.revision IS NULL OR
    tree_changes.revision != resource_providers.revision)
LIMIT :size OFFSET 0;
-- on mysql, postgresql
SELECT resource_providers.id, resource_providers.uuid, resource_providers.revision,
    tree_changes.uuid AS known
FROM resource_providers LEFT OUTER JOIN tree_changes ON tree_changes.provider_id =
    resource_providers.id
WHERE resource_providers.parent_provider_id IS NULL AND (tree_changes.revision IS NULL OR
    tree_changes.revision != resource_providers.revision)
LIMIT :size;


-- changes.clock: Select the time of the database.
-- on sqlite
SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS anon_1;
-- on mysql
SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS anon_1;
-- on postgresql
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS anon_1;


-- changes.delete_all: Delete all numbers and all records of numberings; the arguments are their counts.
DELETE FROM tree_changes;
DELETE FROM change_batches;


-- changes.delete_batches: Delete the records of numberings.
DELETE FROM change_batches
WHERE change_batches.position IN (:ids …);


-- changes.delete_known: Delete the numbers of these roots.
DELETE FROM tree_changes
WHERE tree_changes.provider_id IN (:ids …);


-- changes.delete_tombstones: Delete the numbers of the deletions of trees with these UUIDs.
DELETE FROM tree_changes
WHERE tree_changes.provider_id = 0 AND tree_changes.uuid IN (:ids …);


-- changes.feed: Select (position, token, numbered_at, clock) of the feed, if it exists.

-- as it is
-- on sqlite
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, CAST((julianday('now') -
    2440587.5) * 86400000 AS INTEGER) AS clock
FROM change_feed
WHERE change_feed.id = 1;
-- on mysql
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, (TIMESTAMPDIFF(MICROSECOND,
    '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS clock
FROM change_feed
WHERE change_feed.id = 1;
-- on postgresql
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, CAST(EXTRACT(EPOCH FROM
    clock_timestamp()) * 1000 AS BIGINT) AS clock
FROM change_feed
WHERE change_feed.id = 1;

-- with its lock
-- on sqlite
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, CAST((julianday('now') -
    2440587.5) * 86400000 AS INTEGER) AS clock
FROM change_feed
WHERE change_feed.id = 1;
-- on mysql
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, (TIMESTAMPDIFF(MICROSECOND,
    '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS clock
FROM change_feed
WHERE change_feed.id = 1 FOR UPDATE;
-- on postgresql
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, CAST(EXTRACT(EPOCH FROM
    clock_timestamp()) * 1000 AS BIGINT) AS clock
FROM change_feed
WHERE change_feed.id = 1 FOR UPDATE;


-- changes.gone: Select (provider_id, uuid) of numbered trees whose root no longer exists.
-- on sqlite
SELECT tree_changes.provider_id, tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id != 0 AND NOT (EXISTS (SELECT resource_providers.id
    FROM resource_providers
    WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id =
        tree_changes.provider_id))
LIMIT :size OFFSET 0;
-- on mysql, postgresql
SELECT tree_changes.provider_id, tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id != 0 AND NOT (EXISTS (SELECT resource_providers.id
    FROM resource_providers
    WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id =
        tree_changes.provider_id))
LIMIT :size;


-- changes.insert: Insert numbers: provider_id, uuid, revision, position.
INSERT INTO tree_changes (provider_id, uuid, revision, position)
VALUES (:provider_id_0, :uuid_0, :revision_0, :position_0);


-- changes.insert_batch: Insert the record of a numbering.
INSERT INTO change_batches (position, token, numbered_at)
VALUES (:position_0, :token_0, :numbered_at_0);


-- changes.insert_feed: Insert the feed.
INSERT INTO change_feed (id, position, token, numbered_at, revision_sum)
VALUES (:id_0, :position_0, :token_0, :numbered_at_0, :revision_sum_0);


-- changes.insert_roots: Give all roots one number. The caller checks afterwards whether there are any roots.
INSERT INTO tree_changes (provider_id, uuid, revision, position) SELECT resource_providers.id,
    resource_providers.uuid, resource_providers.revision, 0 AS anon_1
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL;


-- changes.known_sum: Select the sum of the numbered revisions. Deleted trees have revision 0.
SELECT coalesce(sum(tree_changes.revision >> 22), 0) AS revision_sum
FROM tree_changes;


-- changes.old_tombstones: Select the UUIDs of deleted trees whose deletion has at most this number.
SELECT tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id = 0 AND tree_changes.position <= :position;


-- changes.oldest_batches: Select (position, numbered_at) of the oldest records of numberings, in order.
-- on sqlite
SELECT change_batches.position, change_batches.numbered_at
FROM change_batches
ORDER BY change_batches.position
LIMIT 100 OFFSET 0;
-- on mysql, postgresql
SELECT change_batches.position, change_batches.numbered_at
FROM change_batches
ORDER BY change_batches.position
LIMIT 100;


-- changes.page: Select (position, uuid, provider_id) of the first changes after a position.
-- on sqlite
SELECT tree_changes.position, tree_changes.uuid, tree_changes.provider_id
FROM tree_changes
WHERE tree_changes.position > :after AND tree_changes.position <= :until
ORDER BY tree_changes.position
LIMIT :size OFFSET 0;
-- on mysql, postgresql
SELECT tree_changes.position, tree_changes.uuid, tree_changes.provider_id
FROM tree_changes
WHERE tree_changes.position > :after AND tree_changes.position <= :until
ORDER BY tree_changes.position
LIMIT :size;


-- changes.roots: Select (id, uuid, revision) of the roots that have these UUIDs now.
SELECT resource_providers.id, resource_providers.uuid, resource_providers.revision
FROM resource_providers
WHERE resource_providers.uuid IN (:ids …) AND resource_providers.parent_provider_id IS NULL;


-- changes.sizes: Select one row with the number of numbers and the number of numberings.
SELECT (SELECT count(*) AS count_1
  FROM tree_changes) AS changes, (SELECT count(*) AS count_2
  FROM change_batches) AS batches;


-- changes.state: Select one row: (position, token, numbered_at, clock, moved) of the feed.
-- on sqlite
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, CAST((julianday('now') -
    2440587.5) * 86400000 AS INTEGER) AS clock, CASE WHEN (change_feed.revision_sum !=
    roots.revision_sum) THEN 1 ELSE 0 END AS moved
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE +resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;
-- on mysql
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, (TIMESTAMPDIFF(MICROSECOND,
    '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS clock, CASE WHEN (change_feed.revision_sum !=
    roots.revision_sum) THEN 1 ELSE 0 END AS moved
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;
-- on postgresql
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, CAST(EXTRACT(EPOCH FROM
    clock_timestamp()) * 1000 AS BIGINT) AS clock, CASE WHEN (change_feed.revision_sum !=
    roots.revision_sum) THEN 1 ELSE 0 END AS moved
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;


-- changes.token: Select the token of the numbering that has given a number, if it is still known.
-- on sqlite
SELECT change_batches.token
FROM change_batches
WHERE change_batches.position >= :position
ORDER BY change_batches.position
LIMIT 1 OFFSET 0;
-- on mysql, postgresql
SELECT change_batches.token
FROM change_batches
WHERE change_batches.position >= :position
ORDER BY change_batches.position
LIMIT 1;


-- changes.tombstones: Select the UUIDs of numbered deletions.
SELECT tree_changes.uuid
FROM tree_changes
WHERE tree_changes.provider_id = 0 AND tree_changes.uuid IN (:ids …);


-- changes.update_feed: Set all columns of the feed.
UPDATE change_feed
SET position=:position, token=:token, numbered_at=:numbered_at, revision_sum=:revision_sum
WHERE change_feed.id = 1;
