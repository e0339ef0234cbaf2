-- usages.amounts: Select (type, class, sum) for a project or for one of its users. The type may be null.

-- of a project
-- on sqlite, postgresql
SELECT consumer_types.name AS type, resource_classes.name AS class_name, sum(allocations.used) AS
    used
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    allocations.consumer_id = consumers.uuid LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id JOIN resource_classes ON resource_classes.id =
    allocations.resource_class_id
WHERE projects.external_id = 'p'
GROUP BY consumer_types.name, resource_classes.name;
-- on mysql
SELECT consumer_types.name AS type, resource_classes.name AS class_name, sum(allocations.used) AS
    used
FROM consumers INNER JOIN projects ON projects.id = consumers.project_id INNER JOIN allocations ON
    (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(allocations.consumer_id USING ascii)) LEFT OUTER JOIN consumer_types ON
    consumer_types.id = consumers.consumer_type_id INNER JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE (projects.external_id = 'p' AND CAST(CONVERT(projects.external_id USING utf8mb4) AS BINARY) =
    CAST(CONVERT('p' USING utf8mb4) AS BINARY))
GROUP BY consumer_types.name, resource_classes.name;

-- of a user
-- on sqlite, postgresql
SELECT consumer_types.name AS type, resource_classes.name AS class_name, sum(allocations.used) AS
    used
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    allocations.consumer_id = consumers.uuid LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id JOIN users ON users.id = consumers.user_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE projects.external_id = 'p' AND users.external_id = 'u'
GROUP BY consumer_types.name, resource_classes.name;
-- on mysql
SELECT consumer_types.name AS type, resource_classes.name AS class_name, sum(allocations.used) AS
    used
FROM consumers INNER JOIN projects ON projects.id = consumers.project_id INNER JOIN allocations ON
    (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(allocations.consumer_id USING ascii)) LEFT OUTER JOIN consumer_types ON
    consumer_types.id = consumers.consumer_type_id INNER JOIN users ON users.id = consumers.user_id
    INNER JOIN resource_classes ON resource_classes.id = allocations.resource_class_id
WHERE (projects.external_id = 'p' AND CAST(CONVERT(projects.external_id USING utf8mb4) AS BINARY) =
    CAST(CONVERT('p' USING utf8mb4) AS BINARY)) AND (users.external_id = 'u' AND
    CAST(CONVERT(users.external_id USING utf8mb4) AS BINARY) = CAST(CONVERT('u' USING utf8mb4) AS
    BINARY))
GROUP BY consumer_types.name, resource_classes.name;


-- usages.consumer_counts: Select (type, number of distinct consumers with allocations).

-- of a project
-- on sqlite, postgresql
SELECT consumer_types.name AS type, count(DISTINCT consumers.uuid) AS count
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    allocations.consumer_id = consumers.uuid LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id
WHERE projects.external_id = 'p'
GROUP BY consumer_types.name;
-- on mysql
SELECT consumer_types.name AS type, count(DISTINCT consumers.uuid) AS count
FROM consumers INNER JOIN projects ON projects.id = consumers.project_id INNER JOIN allocations ON
    (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(allocations.consumer_id USING ascii)) LEFT OUTER JOIN consumer_types ON
    consumer_types.id = consumers.consumer_type_id
WHERE (projects.external_id = 'p' AND CAST(CONVERT(projects.external_id USING utf8mb4) AS BINARY) =
    CAST(CONVERT('p' USING utf8mb4) AS BINARY))
GROUP BY consumer_types.name;

-- of a user
-- on sqlite, postgresql
SELECT consumer_types.name AS type, count(DISTINCT consumers.uuid) AS count
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    allocations.consumer_id = consumers.uuid LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id JOIN users ON users.id = consumers.user_id
WHERE projects.external_id = 'p' AND users.external_id = 'u'
GROUP BY consumer_types.name;
-- on mysql
SELECT consumer_types.name AS type, count(DISTINCT consumers.uuid) AS count
FROM consumers INNER JOIN projects ON projects.id = consumers.project_id INNER JOIN allocations ON
    (allocations.consumer_id = CONVERT(consumers.uuid USING ascii) AND consumers.uuid =
    CONVERT(allocations.consumer_id USING ascii)) LEFT OUTER JOIN consumer_types ON
    consumer_types.id = consumers.consumer_type_id INNER JOIN users ON users.id = consumers.user_id
WHERE (projects.external_id = 'p' AND CAST(CONVERT(projects.external_id USING utf8mb4) AS BINARY) =
    CAST(CONVERT('p' USING utf8mb4) AS BINARY)) AND (users.external_id = 'u' AND
    CAST(CONVERT(users.external_id USING utf8mb4) AS BINARY) = CAST(CONVERT('u' USING utf8mb4) AS
    BINARY))
GROUP BY consumer_types.name;
