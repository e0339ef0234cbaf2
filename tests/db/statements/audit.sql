-- audit.consumers: Select the next consumers by id, with their generation, type, project, user and time.
SELECT consumers.uuid AS consumer, consumer_types.name AS type, projects.external_id AS project,
    users.external_id AS "user", consumers.created_at AS created, consumers.generation, consumers.id
FROM consumers LEFT OUTER JOIN projects ON projects.id = consumers.project_id LEFT OUTER JOIN users
    ON users.id = consumers.user_id LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id
WHERE consumers.id > :after
ORDER BY consumers.id
LIMIT :size;

-- audit.crowded_hosts: Select (project, group, host, name, members, max_per_host) of hosts with too many members.
SELECT projects.external_id AS project, claim_records.spread_group AS "group",
    resource_providers.uuid AS host, resource_providers.name, count(*) AS members,
    min(claim_records.max_per_host) AS max_per_host
FROM claim_records JOIN consumers ON claim_records.consumer_id = consumers.id AND
    (claim_records.consumer_uuid = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(claim_records.consumer_uuid)) AND claim_records.consumer_created_at =
    coalesce(consumers.created_at, :coalesce_1) JOIN projects ON projects.id = consumers.project_id
    JOIN (SELECT DISTINCT consumers.id AS consumer_id, resource_providers.root_provider_id AS
    root_id
  FROM consumers JOIN allocations ON (allocations.consumer_id = ascii_text(consumers.uuid) AND
      consumers.uuid = ascii_text(allocations.consumer_id)) JOIN resource_providers ON
      resource_providers.id = allocations.resource_provider_id) AS used_host ON
      used_host.consumer_id = consumers.id JOIN resource_providers ON resource_providers.id =
      used_host.root_id
WHERE claim_records.spread_group IS NOT NULL AND claim_records.project_id = consumers.project_id AND
    NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND traits.name =
        'MISC_SHARES_VIA_AGGREGATE'))
GROUP BY projects.external_id, claim_records.spread_group, resource_providers.uuid,
    resource_providers.name
HAVING count(*) > min(claim_records.max_per_host)
ORDER BY projects.external_id, claim_records.spread_group, resource_providers.name;

-- audit.empty_projects: Select projects that have no consumers.
SELECT projects.external_id AS project
FROM projects
WHERE NOT (EXISTS (SELECT 1 AS anon_1
    FROM consumers
    WHERE consumers.project_id = projects.id))
ORDER BY projects.external_id;

-- audit.hosts_without_nova: Select (host, name) of hosts that lack nova's trait, if other hosts have it.
SELECT host.uuid AS host, host.name
FROM resource_providers AS host
WHERE host.parent_provider_id IS NULL AND NOT (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = host.id AND traits.name = 'OWNER_NOVA'))
        AND (EXISTS (SELECT 1 AS anon_2
    FROM inventories JOIN resource_providers ON resource_providers.id =
        inventories.resource_provider_id JOIN resource_classes ON resource_classes.id =
        inventories.resource_class_id
    WHERE resource_providers.root_provider_id = host.id AND resource_classes.name IN ('MEMORY_MB',
        'PCPU', 'VCPU'))) AND (EXISTS (SELECT 1 AS anon_3
    FROM resource_providers AS nova_host
    WHERE EXISTS (SELECT 1 AS anon_4
      FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
      WHERE resource_provider_traits.resource_provider_id = nova_host.id AND traits.name =
          'OWNER_NOVA')))
ORDER BY host.name;

-- audit.on_several_trees: Select (consumer, root, name) of consumers with allocations in several trees, by tree.
WITH used_tree AS
(SELECT DISTINCT allocations.consumer_id, resource_providers.root_provider_id AS root_id
  FROM allocations JOIN resource_providers ON resource_providers.id =
      allocations.resource_provider_id
  WHERE NOT (EXISTS (SELECT 1 AS anon_1
      FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
      WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND traits.name =
          'MISC_SHARES_VIA_AGGREGATE'))),
scattered AS
(SELECT used_tree.consumer_id
  FROM used_tree
  GROUP BY used_tree.consumer_id
  HAVING count(*) > 1)
SELECT used_tree.consumer_id AS consumer, resource_providers.uuid AS root, resource_providers.name
FROM used_tree JOIN scattered ON scattered.consumer_id = used_tree.consumer_id JOIN
    resource_providers ON resource_providers.id = used_tree.root_id
ORDER BY used_tree.consumer_id, resource_providers.name;

-- audit.over_capacity: Select (provider, name, class, used, capacity, excess) of overcommitted inventories.
SELECT resource_providers.uuid AS provider, resource_providers.name, resource_classes.name AS
    resource_class, inventories.used, inventories.capacity, inventories.used - inventories.capacity
    AS excess
FROM inventories JOIN resource_providers ON resource_providers.id = inventories.resource_provider_id
    JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.used > inventories.capacity
ORDER BY resource_providers.name, resource_classes.name;
