-- claim_records.before_creation: Select lists that start with a tag, for creating records.
-- on sqlite
SELECT json_array('consumer', consumers.uuid, consumers.id, consumers.created_at,
    consumers.project_id, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) AS json_row_1
FROM consumers
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT json_array('members', named.uuid, claim_records.project_id, claim_records.spread_group,
    count(DISTINCT claim_records.id)) AS json_row_2
FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id =
    named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
    resource_providers.id JOIN consumers ON consumers.uuid = allocations.consumer_id JOIN
    claim_records ON claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid =
    consumers.uuid AND claim_records.consumer_created_at = coalesce(consumers.created_at,
    :coalesce_1)
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
SELECT json_array('holds', claim_records.project_id, count(*)) AS json_row_3
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_2)
WHERE claim_records.project_id IN (SELECT consumers.project_id
  FROM consumers
  WHERE consumers.uuid IN (:consumers …)) AND claim_records.hold_generation = consumers.generation
      AND claim_records.expires_at > (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) /
      1000)
GROUP BY claim_records.project_id;
-- on mysql
SELECT CONCAT('[', IFNULL(JSON_QUOTE('consumer'), 'null'), ',', IFNULL(JSON_QUOTE(consumers.uuid),
    'null'), ',', IFNULL(consumers.id, 'null'), ',', IFNULL(CONCAT('"', consumers.created_at, '"'),
    'null'), ',', IFNULL(consumers.project_id, 'null'), ',', IFNULL((TIMESTAMPDIFF(MICROSECOND,
    '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000), 'null'), ']') AS json_row_1
FROM consumers
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('members'), 'null'), ',', IFNULL(JSON_QUOTE(named.uuid),
    'null'), ',', IFNULL(claim_records.project_id, 'null'), ',',
    IFNULL(JSON_QUOTE(claim_records.spread_group), 'null'), ',', IFNULL(count(DISTINCT
    claim_records.id), 'null'), ']') AS json_row_2
FROM resource_providers AS named INNER JOIN resource_providers ON
    resource_providers.root_provider_id = named.root_provider_id INNER JOIN allocations ON
    allocations.resource_provider_id = resource_providers.id INNER JOIN consumers ON (consumers.uuid
    = CONVERT(allocations.consumer_id USING ascii) AND allocations.consumer_id =
    CONVERT(consumers.uuid USING ascii)) INNER JOIN claim_records ON claim_records.consumer_id =
    consumers.id AND (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND
    consumers.uuid = CONVERT(claim_records.consumer_uuid USING ascii)) AND
    claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)
WHERE named.uuid IN (:hosts …) AND claim_records.spread_group IN (:groups …) AND
    claim_records.project_id IN (SELECT consumers.project_id
  FROM consumers
  WHERE consumers.uuid IN (:consumers …)) AND claim_records.spread_group IS NOT NULL AND
      claim_records.project_id = consumers.project_id AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits INNER JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = named.root_provider_id AND traits.name =
        'MISC_SHARES_VIA_AGGREGATE'))
GROUP BY named.uuid, claim_records.project_id, claim_records.spread_group
UNION ALL
SELECT CONCAT('[', IFNULL(JSON_QUOTE('holds'), 'null'), ',', IFNULL(claim_records.project_id,
    'null'), ',', IFNULL(count(*), 'null'), ']') AS json_row_3
FROM claim_records INNER JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(claim_records.consumer_uuid USING ascii)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_2)
WHERE claim_records.project_id IN (SELECT consumers.project_id
  FROM consumers
  WHERE consumers.uuid IN (:consumers …)) AND claim_records.hold_generation = consumers.generation
      AND claim_records.expires_at > ((TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3))
      DIV 1000) / 1000)
GROUP BY claim_records.project_id;
-- on postgresql
SELECT CAST(json_build_array('consumer', consumers.uuid, consumers.id, consumers.created_at,
    consumers.project_id, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)) AS TEXT) AS
    json_row_1
FROM consumers
WHERE consumers.uuid IN (:consumers …)
UNION ALL
SELECT CAST(json_build_array('members', named.uuid, claim_records.project_id,
    claim_records.spread_group, count(DISTINCT claim_records.id)) AS TEXT) AS json_row_2
FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id =
    named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
    resource_providers.id JOIN consumers ON consumers.uuid = allocations.consumer_id JOIN
    claim_records ON claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid =
    consumers.uuid AND claim_records.consumer_created_at = coalesce(consumers.created_at,
    :coalesce_1)
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
SELECT CAST(json_build_array('holds', claim_records.project_id, count(*)) AS TEXT) AS json_row_3
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_2)
WHERE claim_records.project_id IN (SELECT consumers.project_id
  FROM consumers
  WHERE consumers.uuid IN (:consumers …)) AND claim_records.hold_generation = consumers.generation
      AND claim_records.expires_at > (CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) /
      1000)
GROUP BY claim_records.project_id;


-- claim_records.clear_holds: Remove the holds from records (id -> `expires_at` as read). The records remain.
UPDATE claim_records
SET hold_generation=:hold_generation, held_since=:held_since, expires_at=:expires_at,
    mappings=:mappings
WHERE claim_records.id IN (:ids …) AND coalesce(claim_records.expires_at, 0) = CASE claim_records.id
    WHEN :id_0 THEN :end_0 END;


-- claim_records.create: Insert records. A row contains all columns except `id`, `created_at` and `updated_at`.
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
-- on sqlite
SELECT claim_records.id, claim_records.consumer_uuid, CAST((julianday('now') - 2440587.5) * 86400000
    AS INTEGER) AS clock
FROM claim_records
WHERE claim_records.expires_at <= (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) /
    1000)
ORDER BY claim_records.expires_at
LIMIT :size OFFSET 0;
-- on mysql
SELECT claim_records.id, claim_records.consumer_uuid, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01',
    UTC_TIMESTAMP(3)) DIV 1000) AS clock
FROM claim_records
WHERE claim_records.expires_at <= ((TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV
    1000) / 1000)
ORDER BY claim_records.expires_at
LIMIT :size;
-- on postgresql
SELECT claim_records.id, claim_records.consumer_uuid, CAST(EXTRACT(EPOCH FROM clock_timestamp()) *
    1000 AS BIGINT) AS clock
FROM claim_records
WHERE claim_records.expires_at <= (CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) /
    1000)
ORDER BY claim_records.expires_at
LIMIT :size;


-- claim_records.extend: Set the end of a hold, unless the end has changed since it was read.
UPDATE claim_records
SET updated_at=:now, expires_at=:new
WHERE claim_records.id = :row_id AND claim_records.expires_at = :old;


-- claim_records.for_consumers: Select the records of consumers, and the current time in milliseconds.
-- on sqlite
SELECT consumers.uuid, claim_records.id, CASE WHEN (claim_records.spread_group IS NOT NULL AND
    claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, claim_records.project_id, CASE WHEN
    (claim_records.hold_generation = consumers.generation) THEN claim_records.expires_at END AS
    expires_at, claim_records.held_since, claim_records.mappings, claim_records.request,
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS clock
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE consumers.uuid IN (:ids …);
-- on mysql
SELECT consumers.uuid, claim_records.id, CASE WHEN (claim_records.spread_group IS NOT NULL AND
    claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, claim_records.project_id, CASE WHEN
    (claim_records.hold_generation = consumers.generation) THEN claim_records.expires_at END AS
    expires_at, claim_records.held_since, claim_records.mappings, claim_records.request,
    (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS clock
FROM claim_records INNER JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(claim_records.consumer_uuid USING ascii)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE consumers.uuid IN (:ids …);
-- on postgresql
SELECT consumers.uuid, claim_records.id, CASE WHEN (claim_records.spread_group IS NOT NULL AND
    claim_records.project_id = consumers.project_id) THEN claim_records.spread_group END AS
    spread_group, claim_records.max_per_host, claim_records.project_id, CASE WHEN
    (claim_records.hold_generation = consumers.generation) THEN claim_records.expires_at END AS
    expires_at, claim_records.held_since, claim_records.mappings, claim_records.request,
    CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS clock
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1)
WHERE consumers.uuid IN (:ids …);


-- claim_records.join_group: Set the spread group of a record. The group belongs to the project of the consumer.
UPDATE claim_records
SET updated_at=:now, project_id=:new_project_id, spread_group=:new_spread_group,
    max_per_host=:new_max_per_host
WHERE claim_records.id = :row_id;


-- claim_records.leave_groups: Remove consumers from their spread groups, by the ids of their records.
UPDATE claim_records
SET spread_group=:spread_group, max_per_host=:max_per_host
WHERE claim_records.id IN (:ids …);


-- claim_records.lock_consumers: Select (id, uuid, time of creation, project id) of consumers with allocations. Lock them.
-- on sqlite
SELECT consumers.id, consumers.uuid, consumers.created_at, consumers.project_id
FROM consumers
WHERE consumers.uuid IN (:ids …) AND (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid));
-- on mysql
SELECT consumers.id, consumers.uuid, consumers.created_at, consumers.project_id
FROM consumers
WHERE consumers.uuid IN (:ids …) AND (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
        CONVERT(allocations.consumer_id USING ascii)))) FOR UPDATE;
-- on postgresql
SELECT consumers.id, consumers.uuid, consumers.created_at, consumers.project_id
FROM consumers
WHERE consumers.uuid IN (:ids …) AND (EXISTS (SELECT 1 AS anon_1
    FROM allocations
    WHERE allocations.consumer_id = consumers.uuid)) FOR UPDATE;


-- claim_records.members: Select (consumer uuid, project, spread group, number) of all members of spread groups.
-- on sqlite, postgresql
SELECT consumers.uuid, projects.external_id AS project, claim_records.spread_group,
    claim_records.max_per_host
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    claim_records.consumer_uuid = consumers.uuid AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) JOIN projects ON projects.id = consumers.project_id
WHERE claim_records.spread_group IS NOT NULL AND claim_records.project_id = consumers.project_id;
-- on mysql
SELECT consumers.uuid, projects.external_id AS project, claim_records.spread_group,
    claim_records.max_per_host
FROM claim_records INNER JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(claim_records.consumer_uuid USING ascii)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) INNER JOIN projects ON projects.id =
    consumers.project_id
WHERE claim_records.spread_group IS NOT NULL AND claim_records.project_id = consumers.project_id;


-- claim_records.remember: Set the stored request of a record.
UPDATE claim_records
SET updated_at=:now, request=:text
WHERE claim_records.id = :row_id;


-- claim_records.without_consumer: Select (id, expires_at) of the first records that belong to no consumer.
-- on sqlite
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid = consumers.uuid
        AND claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)))
ORDER BY claim_records.id
LIMIT 1000 OFFSET 0;
-- on mysql
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
        CONVERT(consumers.uuid USING ascii) AND consumers.uuid = CONVERT(claim_records.consumer_uuid
        USING ascii)) AND claim_records.consumer_created_at = coalesce(consumers.created_at,
        :coalesce_1)))
ORDER BY claim_records.id
LIMIT 1000;
-- on postgresql
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid = consumers.uuid
        AND claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1)))
ORDER BY claim_records.id
LIMIT 1000;


-- claim_records.without_consumer_of: Select (id, expires_at) of the given records that belong to no consumer.
-- on sqlite, postgresql
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND claim_records.consumer_uuid = consumers.uuid
        AND claim_records.consumer_created_at = coalesce(consumers.created_at, :coalesce_1))) AND
        claim_records.id IN (:ids …);
-- on mysql
SELECT claim_records.id, claim_records.expires_at
FROM claim_records
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE claim_records.consumer_id = consumers.id AND (claim_records.consumer_uuid =
        CONVERT(consumers.uuid USING ascii) AND consumers.uuid = CONVERT(claim_records.consumer_uuid
        USING ascii)) AND claim_records.consumer_created_at = coalesce(consumers.created_at,
        :coalesce_1))) AND claim_records.id IN (:ids …);
