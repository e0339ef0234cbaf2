-- changes.clock: Select the time of the database.
SELECT clock() AS anon_1;

-- changes.feed: Select (position, token, numbered_at, clock) of the feed, if it exists.

-- as it is
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, clock() AS clock
FROM change_feed
WHERE change_feed.id = 1;

-- with its lock
SELECT change_feed.position, change_feed.token, change_feed.numbered_at, clock() AS clock
FROM change_feed
WHERE change_feed.id = 1 FOR UPDATE;

-- changes.page: Select the first changes after a position, each a `NumberedTree`.
SELECT json_rows(page.position, page.uuid, page.provider_id, page.revision) AS json_rows_1
FROM (SELECT tree_changes.position, tree_changes.uuid, tree_changes.provider_id, (SELECT
    max(resource_providers.revision) AS max_1
    FROM resource_providers
    WHERE (resource_providers.uuid = ascii_text(tree_changes.uuid) AND tree_changes.uuid =
        ascii_text(resource_providers.uuid)) AND resource_providers.parent_provider_id IS NULL) AS
        revision
  FROM tree_changes
  WHERE tree_changes.position > :after AND tree_changes.position <= :until
  ORDER BY tree_changes.position
  LIMIT :size) AS page;

-- changes.state: Select one row, a `FeedState`.
SELECT json_row(change_feed.position, change_feed.token, change_feed.numbered_at, clock(), CASE WHEN
    (change_feed.revision_sum != roots.revision_sum) THEN 1 ELSE 0 END) AS json_row_1
FROM (SELECT coalesce(sum(resource_providers.revision >> 22), 0) AS revision_sum
  FROM resource_providers
  WHERE +resource_providers.parent_provider_id IS NULL) AS roots LEFT OUTER JOIN change_feed ON
      change_feed.id = 1;

-- changes.token: Select the token of the numbering that assigned a number, if the token still exists.
SELECT change_batches.token
FROM change_batches
WHERE change_batches.position >= :position
ORDER BY change_batches.position
LIMIT 1;
