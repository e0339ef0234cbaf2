-- usages.amounts: Select (type, class, sum) for a project or for one of its users. The type may be null.

-- of a project
SELECT consumer_types.name AS type, resource_classes.name AS class_name, sum(allocations.used) AS
    used
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(allocations.consumer_id)) LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id JOIN resource_classes ON resource_classes.id =
    allocations.resource_class_id
WHERE (projects.external_id = 'p' AND bytes_of_text(projects.external_id) = bytes_of_text('p'))
GROUP BY consumer_types.name, resource_classes.name;

-- of a user
SELECT consumer_types.name AS type, resource_classes.name AS class_name, sum(allocations.used) AS
    used
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(allocations.consumer_id)) LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id JOIN users ON users.id = consumers.user_id JOIN resource_classes ON
    resource_classes.id = allocations.resource_class_id
WHERE (projects.external_id = 'p' AND bytes_of_text(projects.external_id) = bytes_of_text('p')) AND
    (users.external_id = 'u' AND bytes_of_text(users.external_id) = bytes_of_text('u'))
GROUP BY consumer_types.name, resource_classes.name;

-- usages.consumer_counts: Select (type, number of distinct consumers with allocations).

-- of a project
SELECT consumer_types.name AS type, count(DISTINCT consumers.uuid) AS count
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(allocations.consumer_id)) LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id
WHERE (projects.external_id = 'p' AND bytes_of_text(projects.external_id) = bytes_of_text('p'))
GROUP BY consumer_types.name;

-- of a user
SELECT consumer_types.name AS type, count(DISTINCT consumers.uuid) AS count
FROM consumers JOIN projects ON projects.id = consumers.project_id JOIN allocations ON
    (allocations.consumer_id = ascii_text(consumers.uuid) AND consumers.uuid =
    ascii_text(allocations.consumer_id)) LEFT OUTER JOIN consumer_types ON consumer_types.id =
    consumers.consumer_type_id JOIN users ON users.id = consumers.user_id
WHERE (projects.external_id = 'p' AND bytes_of_text(projects.external_id) = bytes_of_text('p')) AND
    (users.external_id = 'u' AND bytes_of_text(users.external_id) = bytes_of_text('u'))
GROUP BY consumer_types.name;
