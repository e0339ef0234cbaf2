-- revisions.for_providers: Select (root id, revision) of the trees of providers.
SELECT root.id, root.revision
FROM resource_providers JOIN resource_providers AS root ON root.id =
    resource_providers.root_provider_id
WHERE resource_providers.uuid IN (:ids …);

-- revisions.sums: Select one row: the number of providers, two sums of their revisions, and a number of roots.
SELECT count(*) AS count_1, sum(resource_providers.revision >> 32) AS sum_1,
    sum(resource_providers.revision & 4294967295) AS sum_2, sum(CASE WHEN
    (resource_providers.parent_provider_id IS NULL AND resource_providers.revision = 0) THEN 1 ELSE
    0 END) AS sum_3
FROM resource_providers;
