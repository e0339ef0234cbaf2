-- consumer_list.page: Select at most `size` consumers with allocations and a uuid after `after`, by uuid.
-- on sqlite
SELECT consumers.uuid, projects.external_id AS project, users.external_id AS user,
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM consumers LEFT OUTER JOIN projects ON projects.id = consumers.project_id LEFT OUTER JOIN users
    ON users.id = consumers.user_id LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id LEFT OUTER JOIN claim_records ON claim_records.consumer_id =
    consumers.id AND claim_records.consumer_uuid = consumers.uuid AND
    claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)
WHERE (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid)) AND consumers.uuid IN
        ('c0ffee00-0000-4000-8000-000000000000') AND projects.external_id = 'p' AND
        users.external_id = 'u' AND consumer_types.name = 'INSTANCE' AND consumers.uuid IN (SELECT
        allocations.consumer_id
  FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id =
      named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
      resource_providers.id
  WHERE named.uuid IN ('c0ffee00-0000-4000-8000-000000000000')) AND claim_records.spread_group =
      'web' AND claim_records.spread_group IS NOT NULL AND claim_records.project_id =
      consumers.project_id AND claim_records.hold_generation = consumers.generation AND
      consumers.uuid > 'c0ffee00-0000-4000-8000-000000000000'
ORDER BY consumers.uuid
LIMIT 1000 OFFSET 0;
-- on mysql
SELECT consumers.uuid, projects.external_id AS project, users.external_id AS user,
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM consumers LEFT OUTER JOIN projects ON projects.id = consumers.project_id LEFT OUTER JOIN users
    ON users.id = consumers.user_id LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id LEFT OUTER JOIN claim_records ON claim_records.consumer_id =
    consumers.id AND claim_records.consumer_uuid = consumers.uuid AND
    claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)
WHERE (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid)) AND consumers.uuid IN
        ('c0ffee00-0000-4000-8000-000000000000') AND (projects.external_id = 'p' AND
        CAST(CONVERT(projects.external_id USING utf8mb4) AS BINARY) = CAST(CONVERT('p' USING
        utf8mb4) AS BINARY)) AND (users.external_id = 'u' AND CAST(CONVERT(users.external_id USING
        utf8mb4) AS BINARY) = CAST(CONVERT('u' USING utf8mb4) AS BINARY)) AND (consumer_types.name =
        'INSTANCE' AND CAST(CONVERT(consumer_types.name USING utf8mb4) AS BINARY) =
        CAST(CONVERT('INSTANCE' USING utf8mb4) AS BINARY)) AND consumers.uuid IN (SELECT
        allocations.consumer_id
  FROM resource_providers AS named INNER JOIN resource_providers ON
      resource_providers.root_provider_id = named.root_provider_id INNER JOIN allocations ON
      allocations.resource_provider_id = resource_providers.id
  WHERE named.uuid IN ('c0ffee00-0000-4000-8000-000000000000')) AND claim_records.spread_group =
      'web' AND claim_records.spread_group IS NOT NULL AND claim_records.project_id =
      consumers.project_id AND claim_records.hold_generation = consumers.generation AND
      consumers.uuid > 'c0ffee00-0000-4000-8000-000000000000'
ORDER BY consumers.uuid
LIMIT 1000;
-- on postgresql
SELECT consumers.uuid, projects.external_id AS project, users.external_id AS "user",
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM consumers LEFT OUTER JOIN projects ON projects.id = consumers.project_id LEFT OUTER JOIN users
    ON users.id = consumers.user_id LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id LEFT OUTER JOIN claim_records ON claim_records.consumer_id =
    consumers.id AND claim_records.consumer_uuid = consumers.uuid AND
    claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)
WHERE (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid)) AND consumers.uuid IN
        ('c0ffee00-0000-4000-8000-000000000000') AND projects.external_id = 'p' AND
        users.external_id = 'u' AND consumer_types.name = 'INSTANCE' AND consumers.uuid IN (SELECT
        allocations.consumer_id
  FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id =
      named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
      resource_providers.id
  WHERE named.uuid IN ('c0ffee00-0000-4000-8000-000000000000')) AND claim_records.spread_group =
      'web' AND claim_records.spread_group IS NOT NULL AND claim_records.project_id =
      consumers.project_id AND claim_records.hold_generation = consumers.generation AND
      consumers.uuid > 'c0ffee00-0000-4000-8000-000000000000'
ORDER BY consumers.uuid
LIMIT 1000;
