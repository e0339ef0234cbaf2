-- changes.clock: Select the time of the database.
-- on sqlite
SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS anon_1;
-- on mysql
SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS anon_1;
-- on postgresql
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS anon_1;


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


-- changes.page: Select the first changes after a position, each a `NumberedTree`.
-- on sqlite
SELECT json_group_array(json_array(page.position, page.uuid, page.provider_id, page.revision)) AS
    json_rows_1
FROM (SELECT tree_changes.position AS position, tree_changes.uuid AS uuid, tree_changes.provider_id
    AS provider_id, (SELECT max(resource_providers.revision) AS max_1
    FROM resource_providers
    WHERE resource_providers.uuid = tree_changes.uuid AND resource_providers.parent_provider_id IS
        NULL) AS revision
  FROM tree_changes
  WHERE tree_changes.position > :after AND tree_changes.position <= :until
  ORDER BY tree_changes.position
  LIMIT :size OFFSET 0) AS page;
-- on mysql
SELECT CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(page.position, 'null'), ',',
    IFNULL(JSON_QUOTE(page.uuid), 'null'), ',', IFNULL(page.provider_id, 'null'), ',',
    IFNULL(page.revision, 'null'), ']')), ']') AS json_rows_1
FROM (SELECT tree_changes.position AS position, tree_changes.uuid AS uuid, tree_changes.provider_id
    AS provider_id, (SELECT max(resource_providers.revision) AS max_1
    FROM resource_providers
    WHERE (resource_providers.uuid = CONVERT(tree_changes.uuid USING ascii) AND tree_changes.uuid =
        CONVERT(resource_providers.uuid USING ascii)) AND resource_providers.parent_provider_id IS
        NULL) AS revision
  FROM tree_changes
  WHERE tree_changes.position > :after AND tree_changes.position <= :until
  ORDER BY tree_changes.position
  LIMIT :size) AS page;
-- on postgresql
SELECT CAST(json_agg(json_build_array(page.position, page.uuid, page.provider_id, page.revision)) AS
    TEXT) AS json_rows_1
FROM (SELECT tree_changes.position AS position, tree_changes.uuid AS uuid, tree_changes.provider_id
    AS provider_id, (SELECT max(resource_providers.revision) AS max_1
    FROM resource_providers
    WHERE resource_providers.uuid = tree_changes.uuid AND resource_providers.parent_provider_id IS
        NULL) AS revision
  FROM tree_changes
  WHERE tree_changes.position > :after AND tree_changes.position <= :until
  ORDER BY tree_changes.position
  LIMIT :size) AS page;


-- changes.state: Select one row, a `FeedState`.
-- on sqlite
SELECT json_array(change_feed.position, change_feed.token, change_feed.numbered_at,
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), CASE WHEN (change_feed.revision_sum
    != roots.revision_sum) THEN 1 ELSE 0 END) AS json_row_1
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE +resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;
-- on mysql
SELECT CONCAT('[', IFNULL(change_feed.position, 'null'), ',', IFNULL(change_feed.token, 'null'),
    ',', IFNULL(change_feed.numbered_at, 'null'), ',', IFNULL((TIMESTAMPDIFF(MICROSECOND,
    '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000), 'null'), ',', IFNULL(CASE WHEN
    (change_feed.revision_sum != roots.revision_sum) THEN 1 ELSE 0 END, 'null'), ']') AS json_row_1
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;
-- on postgresql
SELECT CAST(json_build_array(change_feed.position, change_feed.token, change_feed.numbered_at,
    CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT), CASE WHEN
    (change_feed.revision_sum != roots.revision_sum) THEN 1 ELSE 0 END) AS TEXT) AS json_row_1
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;


-- changes.token: Select the token of the numbering that assigned a number, if the token still exists.
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
