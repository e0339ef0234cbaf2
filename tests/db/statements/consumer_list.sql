-- consumer_list.page: Select up to `size` consumers with allocations and with a uuid after `after`, by uuid.
SELECT STRAIGHT_JOIN consumers.uuid, projects.external_id AS project, users.external_id AS "user",
    consumer_types.name AS type, consumers.generation, CASE WHEN (claim_records.spread_group IS NOT
    NULL AND claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, CASE WHEN (claim_records.hold_generation =
    consumers.generation) THEN claim_records.expires_at END AS expires_at, claim_records.request
FROM (SELECT consumers.id
  FROM consumers JOIN claim_records ON claim_records.consumer_id = consumers.id AND
      (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
      ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
      coalesce(consumers.created_at, :coalesce_1)
  WHERE (SELECT allocations.id
    FROM allocations
    WHERE (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
        ascii_text(allocations.consumer_id))
    LIMIT 1) IS NOT NULL AND consumers.uuid IN ('c0ffee00-0000-4000-8000-000000000000') AND
        consumers.project_id IN (SELECT projects.id
    FROM projects
    WHERE (projects.external_id = 'p' AND bytes_of_text(projects.external_id) = bytes_of_text('p')))
        AND consumers.user_id IN (SELECT users.id
    FROM users
    WHERE (users.external_id = 'u' AND bytes_of_text(users.external_id) = bytes_of_text('u'))) AND
        consumers.consumer_type_id IN (SELECT consumer_types.id
    FROM consumer_types
    WHERE (consumer_types.name = 'INSTANCE' AND bytes_of_text(consumer_types.name) =
        bytes_of_text('INSTANCE'))) AND consumers.id IN (SELECT user_of_tree.id
    FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id
        = named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
        resource_providers.id JOIN consumers AS user_of_tree ON (user_of_tree.uuid =
        ascii_text(allocations.consumer_id) AND allocations.consumer_id =
        ascii_text(user_of_tree.uuid))
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
      claim_records ON claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
      ascii_text(consumers.uuid) AND consumers.uuid = ascii_text(claim_records.consumer_uuid)) AND
      claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_2)
ORDER BY consumers.uuid;
