-- root_windows.blocks: Select (number, text) of blocks of up to 256 roots with consecutive ids.
SELECT resource_providers.id >> 8 AS anon_1, json_rows(resource_providers.id, CASE WHEN
    (resource_providers.root_provider_id = resource_providers.id) THEN resource_providers.revision
    END) AS json_rows_1
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL
GROUP BY resource_providers.id >> 8;

-- root_windows.next_roots: Select (id, revision) of the next `size` roots, in the order of ids.
SELECT json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT resource_providers.id, CASE WHEN (resource_providers.root_provider_id =
    resource_providers.id) THEN resource_providers.revision END AS revision
  FROM resource_providers
  WHERE resource_providers.parent_provider_id IS NULL AND resource_providers.id > :after
  ORDER BY resource_providers.id
  LIMIT :size) AS roots;

-- root_windows.outermost_roots: Select the smallest and the largest root id, or nulls if there are no roots.
SELECT min(resource_providers.id) AS min_1, max(resource_providers.id) AS max_1
FROM resource_providers
WHERE resource_providers.parent_provider_id IS NULL;
