-- allocations.consumers_in_tree: Select the uuids of consumers that have allocations in the tree of a provider.
SELECT DISTINCT allocations.consumer_id
FROM resource_providers AS named JOIN resource_providers ON resource_providers.root_provider_id =
    named.root_provider_id JOIN allocations ON allocations.resource_provider_id =
    resource_providers.id
WHERE named.uuid = :provider_uuid
ORDER BY allocations.consumer_id;

-- allocations.consumers_in_trees: Select the uuids of consumers that have allocations in the trees of some roots.
SELECT DISTINCT allocations.consumer_id
FROM allocations JOIN resource_providers ON resource_providers.id = allocations.resource_provider_id
WHERE resource_providers.root_provider_id IN (:ids …);

-- allocations.create: Insert allocations (consumer_id, resource_provider_id, resource_class_id, used).
INSERT INTO allocations (consumer_id, resource_provider_id, resource_class_id, used, created_at)
VALUES (:consumer_id_0, :resource_provider_id_0, :resource_class_id_0, :used_0, :created_at_0);

-- allocations.create_consumers: Insert consumers (uuid, project_id, user_id, consumer_type_id) at the first generation.
INSERT INTO consumers (uuid, project_id, user_id, consumer_type_id, generation, created_at)
VALUES (:uuid_0, :project_id_0, :user_id_0, :consumer_type_id_0, :generation_0, :created_at_0);

-- allocations.delete: Delete allocations by id.
DELETE FROM allocations
WHERE allocations.id IN (:ids …);

-- allocations.delete_consumers: Delete consumers (id -> generation as read) whose generation has not changed.
DELETE FROM consumers
WHERE consumers.id IN (:ids …) AND consumers.generation = CASE consumers.id WHEN :id_0 THEN
    :generation_0 END;

-- allocations.everywhere: Select the allocations of all consumers, with the names of their providers.
SELECT resource_providers.name, allocations.consumer_id, resource_classes.name AS class_name,
    allocations.used
FROM allocations JOIN resource_providers ON resource_providers.id = allocations.resource_provider_id
    JOIN resource_classes ON resource_classes.id = allocations.resource_class_id;

-- allocations.held: Select the allocations of consumers like `show`, with the uuid of each provider's root.
SELECT consumers.uuid, consumers.generation, projects.external_id AS project, users.external_id AS
    "user", consumer_types.name AS type, resource_providers.uuid AS provider_uuid,
    resource_providers.generation AS provider_generation, resource_classes.name AS class_name,
    allocations.used, coalesce(allocations.updated_at, allocations.created_at) AS changed_at,
    root.uuid AS root_uuid
FROM allocations JOIN consumers ON (consumers.uuid = ascii_text(allocations.consumer_id) AND
    allocations.consumer_id = ascii_text(consumers.uuid)) JOIN resource_providers ON
    resource_providers.id = allocations.resource_provider_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id LEFT OUTER JOIN projects ON projects.id =
    consumers.project_id LEFT OUTER JOIN users ON users.id = consumers.user_id LEFT OUTER JOIN
    consumer_types ON consumer_types.id = consumers.consumer_type_id JOIN resource_providers AS root
    ON root.id = resource_providers.root_provider_id
WHERE allocations.consumer_id IN (:ids …)
ORDER BY allocations.consumer_id, allocations.id;

-- allocations.on_provider: Select (consumer, its generation, class, amount, time) of the allocations on a provider.
SELECT consumers.uuid, consumers.generation, resource_classes.name AS class_name, allocations.used,
    coalesce(allocations.updated_at, allocations.created_at) AS changed_at
FROM allocations JOIN consumers ON (consumers.uuid = ascii_text(allocations.consumer_id) AND
    allocations.consumer_id = ascii_text(consumers.uuid)) JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE allocations.resource_provider_id = :provider_id
ORDER BY consumers.id, allocations.id;

-- allocations.show: Select the allocations of consumers in the form of the API.
SELECT json_row(consumers.uuid, consumers.generation, projects.external_id, users.external_id,
    consumer_types.name, resource_providers.uuid, resource_providers.generation,
    resource_classes.name, allocations.used, coalesce(allocations.updated_at,
    allocations.created_at)) AS json_row_1
FROM allocations JOIN consumers ON (consumers.uuid = ascii_text(allocations.consumer_id) AND
    allocations.consumer_id = ascii_text(consumers.uuid)) JOIN resource_providers ON
    resource_providers.id = allocations.resource_provider_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id LEFT OUTER JOIN projects ON projects.id =
    consumers.project_id LEFT OUTER JOIN users ON users.id = consumers.user_id LEFT OUTER JOIN
    consumer_types ON consumer_types.id = consumers.consumer_type_id
WHERE allocations.consumer_id IN (:ids …)
ORDER BY allocations.id;

-- allocations.update_consumers: Increment the generations of consumers and set their owners.
UPDATE consumers
SET updated_at=:now, project_id=CASE consumers.id WHEN :id_0 THEN :new_project_id_0 END,
    user_id=CASE consumers.id WHEN :id_0 THEN :new_user_id_0 END, generation=(consumers.generation +
    1), consumer_type_id=CASE consumers.id WHEN :id_0 THEN :new_consumer_type_id_0 END
WHERE consumers.id IN (:ids …) AND consumers.generation = CASE consumers.id WHEN :id_0 THEN
    :new_generation_0 END;
