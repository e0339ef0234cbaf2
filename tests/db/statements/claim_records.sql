-- claim_records.before_creation: Select lists that start with a tag, for creating records.
SELECT json_row('consumer', consumers.uuid, consumers.id, consumers.created_at,
    consumers.project_id, clock()) AS json_row_1
FROM consumers
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT json_row('members', named.uuid, claim_records.project_id, claim_records.spread_group,
    count(DISTINCT claim_records.id)) AS json_row_2
FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id =
    named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
    resource_providers.id JOIN consumers ON (consumers.uuid = ascii_text(allocations.consumer_id)
    AND allocations.consumer_id = ascii_text(consumers.uuid)) JOIN claim_records ON
    claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
    ascii_text(consumers.uuid) AND consumers.uuid = ascii_text(claim_records.consumer_uuid)) AND
    claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)
WHERE named.uuid IN (:hosts …) AND claim_records.spread_group IN (:groups …) AND
    claim_records.project_id IN (SELECT consumers.project_id
  FROM consumers
  WHERE consumers.uuid IN (:consumers …)) AND claim_records.spread_group IS NOT NULL AND
      claim_records.project_id = consumers.project_id AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = named.root_provider_id AND traits.name =
        'MISC_SHARES_VIA_AGGREGATE'))
GROUP BY named.uuid, claim_records.project_id, claim_records.spread_group
UNION ALL
SELECT json_row('holds', claim_records.project_id, count(*)) AS json_row_3
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_2)
WHERE claim_records.project_id IN (SELECT consumers.project_id
  FROM consumers
  WHERE consumers.uuid IN (:consumers …)) AND claim_records.hold_generation = consumers.generation
      AND claim_records.expires_at > (clock() / 1000)
GROUP BY claim_records.project_id;

-- claim_records.clear_holds: Remove the holds from records (id -> `expires_at` as read). The records remain.
UPDATE claim_records
SET hold_generation=:hold_generation, held_since=:held_since, expires_at=:expires_at,
    mappings=:mappings
WHERE claim_records.id IN (:ids …) AND coalesce(claim_records.expires_at, 0) = CASE claim_records.id
    WHEN :id_0 THEN :end_0 END;

-- claim_records.create: Insert records. All rows have the same columns. `consumer_created_at` may be None.
INSERT INTO claim_records (consumer_id, consumer_uuid, project_id, consumer_created_at,
    spread_group, max_per_host, hold_generation, held_since, expires_at, mappings, request,
    created_at)
VALUES (:consumer_id_0, :consumer_uuid_0, :project_id_0, :consumer_created_at_0, :spread_group_0,
    :max_per_host_0, :hold_generation_0, :held_since_0, :expires_at_0, :mappings_0, :request_0,
    :created_at_0);

-- claim_records.delete: Delete records (id -> `expires_at` as read) whose holds have not been extended since then.
DELETE FROM claim_records
WHERE claim_records.id IN (:ids …) AND coalesce(claim_records.expires_at, 0) = CASE claim_records.id
    WHEN :id_0 THEN :end_0 END;

-- claim_records.expired: Select (id, consumer uuid, time in milliseconds) of the records whose holds ended first.
SELECT claim_records.id, claim_records.consumer_uuid, clock() AS clock
FROM claim_records
WHERE claim_records.expires_at <= (clock() / 1000)
ORDER BY claim_records.expires_at
LIMIT :size;

-- claim_records.for_consumers: Select the records of consumers, and the current time in milliseconds.
SELECT consumers.uuid, claim_records.id, CASE WHEN (claim_records.spread_group IS NOT NULL AND
    claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, claim_records.project_id, CASE WHEN
    (claim_records.hold_generation = consumers.generation) THEN claim_records.expires_at END AS
    expires_at, claim_records.held_since, claim_records.mappings, claim_records.request, clock() AS
    clock
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE consumers.uuid IN (:ids …);

-- claim_records.leave_groups: Remove consumers from their spread groups, by the ids of their records.
UPDATE claim_records
SET spread_group=:spread_group, max_per_host=:max_per_host
WHERE claim_records.id IN (:ids …);

-- claim_records.lock_consumers: Select (id, uuid, time of creation, project id) of consumers with allocations. Lock them.
SELECT consumers.id, consumers.uuid, consumers.created_at, consumers.project_id
FROM consumers
WHERE consumers.uuid IN (:ids …) AND (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
        ascii_text(allocations.consumer_id)))) FOR UPDATE;

-- claim_records.members: Select (consumer uuid, project, spread group, number) of all members of spread groups.
SELECT consumers.uuid, projects.external_id AS project, claim_records.spread_group,
    claim_records.max_per_host
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) JOIN projects ON projects.id = consumers.project_id
WHERE claim_records.spread_group IS NOT NULL AND claim_records.project_id = consumers.project_id;

-- claim_records.update: Set columns of a record. The caller has locked its consumer.
UPDATE claim_records
SET updated_at=:updated_at, spread_group='web', max_per_host=3
WHERE claim_records.id = 1;

-- claim_records.without_consumer: Select (id, expires_at) of the first records that belong to no consumer.
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
        ascii_text(consumers.uuid) AND consumers.uuid = ascii_text(claim_records.consumer_uuid)) AND
        claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)))
ORDER BY claim_records.id
LIMIT 1000;

-- claim_records.without_consumer_of: Select (id, expires_at) of the given records that belong to no consumer.
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
        ascii_text(consumers.uuid) AND consumers.uuid = ascii_text(claim_records.consumer_uuid)) AND
        claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1))) AND
        claim_records.id IN (:ids …);
