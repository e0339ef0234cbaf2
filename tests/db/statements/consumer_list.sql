-- consumer_list.page: Select up to `size` consumers with allocations and with a uuid after `after`, by uuid.
-- on sqlite
SELECT consumers.uuid, projects.external_id AS project, users.external_id AS user,
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM (SELECT consumers.id AS id
  FROM consumers JOIN claim_records ON claim_records.consumer_id = consumers.id AND
      claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
      coalesce(consumers.created_at, :coalesce_1)
  WHERE (SELECT allocations.id
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid
    LIMIT 1 OFFSET 0) IS NOT NULL AND consumers.uuid IN ('c0ffee00-0000-4000-8000-000000000000') AND
        consumers.project_id IN (SELECT projects.id
    FROM projects
    WHERE projects.external_id = 'p') AND consumers.user_id IN (SELECT users.id
    FROM users
    WHERE users.external_id = 'u') AND consumers.consumer_type_id IN (SELECT consumer_types.id
    FROM consumer_types
    WHERE consumer_types.name = 'INSTANCE') AND consumers.id IN (SELECT user_of_tree.id
    FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id
        = named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
        resource_providers.id JOIN consumers AS user_of_tree ON user_of_tree.uuid =
        allocations.consumer_id
    WHERE named.uuid IN ('c0ffee00-0000-4000-8000-000000000000')) AND claim_records.spread_group =
        'web' AND claim_records.spread_group IS NOT NULL AND claim_records.project_id =
        consumers.project_id AND consumers.id IN (SELECT claim_records.consumer_id
    FROM claim_records
    WHERE claim_records.expires_at IS NOT NULL) AND claim_records.hold_generation =
        consumers.generation AND consumers.uuid > 'c0ffee00-0000-4000-8000-000000000000'
  ORDER BY consumers.uuid
  LIMIT 1000 OFFSET 0) AS listed JOIN consumers ON consumers.id = listed.id LEFT OUTER JOIN projects
      ON projects.id = consumers.project_id LEFT OUTER JOIN users ON users.id = consumers.user_id
      LEFT OUTER JOIN consumer_types ON consumer_types.id = consumers.consumer_type_id LEFT OUTER
      JOIN claim_records ON claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid
      = consumers.uuid AND claim_records.consumer_created_at = coalesce(consumers.created_at,
      :coalesce_2)
ORDER BY consumers.uuid;
-- on mysql
SELECT STRAIGHT_JOIN consumers.uuid, projects.external_id AS project, users.external_id AS user,
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM (SELECT consumers.id AS id
  FROM consumers INNER JOIN claim_records ON claim_records.consumer_id = consumers.id AND
      (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
      CONVERT(claim_records.consumer_uuid USING ascii)) AND claim_records.consumer_created_at =
      coalesce(consumers.created_at, :coalesce_1)
  WHERE (SELECT allocations.id
    FROM allocations
    WHERE (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
        CONVERT(allocations.consumer_id USING ascii))
    LIMIT 1) IS NOT NULL AND consumers.uuid IN ('c0ffee00-0000-4000-8000-000000000000') AND
        consumers.project_id IN (SELECT projects.id
    FROM projects
    WHERE (projects.external_id = 'p' AND CAST(CONVERT(projects.external_id USING utf8mb4) AS
        BINARY) = CAST(CONVERT('p' USING utf8mb4) AS BINARY))) AND consumers.user_id IN (SELECT
        users.id
    FROM users
    WHERE (users.external_id = 'u' AND CAST(CONVERT(users.external_id USING utf8mb4) AS BINARY) =
        CAST(CONVERT('u' USING utf8mb4) AS BINARY))) AND consumers.consumer_type_id IN (SELECT
        consumer_types.id
    FROM consumer_types
    WHERE (consumer_types.name = 'INSTANCE' AND CAST(CONVERT(consumer_types.name USING utf8mb4) AS
        BINARY) = CAST(CONVERT('INSTANCE' USING utf8mb4) AS BINARY))) AND consumers.id IN (SELECT
        user_of_tree.id
    FROM resource_providers AS named INNER JOIN resource_providers ON
        resource_providers.root_provider_id = named.root_provider_id INNER JOIN allocations ON
        allocations.resource_provider_id = resource_providers.id INNER JOIN consumers AS
        user_of_tree ON (user_of_tree.uuid = CONVERT(allocations.consumer_id USING ascii) AND
        allocations.consumer_id = CONVERT(user_of_tree.uuid USING ascii))
    WHERE named.uuid IN ('c0ffee00-0000-4000-8000-000000000000')) AND claim_records.spread_group =
        'web' AND claim_records.spread_group IS NOT NULL AND claim_records.project_id =
        consumers.project_id AND consumers.id IN (SELECT claim_records.consumer_id
    FROM claim_records
    WHERE claim_records.expires_at IS NOT NULL) AND claim_records.hold_generation =
        consumers.generation AND consumers.uuid > 'c0ffee00-0000-4000-8000-000000000000'
  ORDER BY consumers.uuid
  LIMIT 1000) AS listed INNER JOIN consumers ON consumers.id = listed.id LEFT OUTER JOIN projects ON
      projects.id = consumers.project_id LEFT OUTER JOIN users ON users.id = consumers.user_id LEFT
      OUTER JOIN consumer_types ON consumer_types.id = consumers.consumer_type_id LEFT OUTER JOIN
      claim_records ON claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
      CONVERT(consumers.uuid USING ascii) AND consumers.uuid = CONVERT(claim_records.consumer_uuid
      USING ascii)) AND claim_records.consumer_created_at = coalesce(consumers.created_at,
      :coalesce_2)
ORDER BY consumers.uuid;
-- on postgresql
SELECT consumers.uuid, projects.external_id AS project, users.external_id AS "user",
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM (SELECT consumers.id AS id
  FROM consumers JOIN claim_records ON claim_records.consumer_id = consumers.id AND
      claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
      coalesce(consumers.created_at, :coalesce_1)
  WHERE (SELECT allocations.id
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid
    LIMIT 1) IS NOT NULL AND consumers.uuid IN ('c0ffee00-0000-4000-8000-000000000000') AND
        consumers.project_id IN (SELECT projects.id
    FROM projects
    WHERE projects.external_id = 'p') AND consumers.user_id IN (SELECT users.id
    FROM users
    WHERE users.external_id = 'u') AND consumers.consumer_type_id IN (SELECT consumer_types.id
    FROM consumer_types
    WHERE consumer_types.name = 'INSTANCE') AND consumers.id IN (SELECT user_of_tree.id
    FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id
        = named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
        resource_providers.id JOIN consumers AS user_of_tree ON user_of_tree.uuid =
        allocations.consumer_id
    WHERE named.uuid IN ('c0ffee00-0000-4000-8000-000000000000')) AND claim_records.spread_group =
        'web' AND claim_records.spread_group IS NOT NULL AND claim_records.project_id =
        consumers.project_id AND consumers.id IN (SELECT claim_records.consumer_id
    FROM claim_records
    WHERE claim_records.expires_at IS NOT NULL) AND claim_records.hold_generation =
        consumers.generation AND consumers.uuid > 'c0ffee00-0000-4000-8000-000000000000'
  ORDER BY consumers.uuid
  LIMIT 1000) AS listed JOIN consumers ON consumers.id = listed.id LEFT OUTER JOIN projects ON
      projects.id = consumers.project_id LEFT OUTER JOIN users ON users.id = consumers.user_id LEFT
      OUTER JOIN consumer_types ON consumer_types.id = consumers.consumer_type_id LEFT OUTER JOIN
      claim_records ON claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid =
      consumers.uuid AND claim_records.consumer_created_at = coalesce(consumers.created_at,
      :coalesce_2)
ORDER BY consumers.uuid;
