-- roots.driven_roots: Select (id, revision) of the roots after an id with a member that one condition admits.

-- beginning with tree
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS revision
  FROM (SELECT STRAIGHT_JOIN DISTINCT +member.root_provider_id AS id
    FROM resource_providers AS member
    WHERE member.id = :slot_0) AS first JOIN resource_providers AS root ON root.id = first.id
  WHERE +root.parent_provider_id IS NULL AND +first.id > :after) AS roots
GROUP BY roots.id >> 12;

-- beginning with aggregates
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS revision
  FROM (SELECT STRAIGHT_JOIN DISTINCT +member.root_provider_id AS id
    FROM resource_provider_aggregates AS link JOIN resource_providers AS member ON member.id =
        link.resource_provider_id
    WHERE link.aggregate_id IN (:slot_0 …) AND (EXISTS (SELECT 1 AS anon_1
        FROM resource_provider_aggregates
        WHERE resource_provider_aggregates.resource_provider_id = member.id AND
            resource_provider_aggregates.aggregate_id IN (:slot_1 …)))) AS first JOIN
            resource_providers AS root ON root.id = first.id
  WHERE +root.parent_provider_id IS NULL AND +first.id > :after) AS roots
GROUP BY roots.id >> 12;

-- beginning with traits
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS revision
  FROM (SELECT STRAIGHT_JOIN DISTINCT +member.root_provider_id AS id
    FROM resource_provider_traits AS trait_link JOIN resource_providers AS member ON member.id =
        trait_link.resource_provider_id
    WHERE trait_link.trait_id IN (:slot_0 …) AND (EXISTS (SELECT 1 AS anon_1
        FROM resource_provider_traits
        WHERE resource_provider_traits.resource_provider_id = member.id AND
            resource_provider_traits.trait_id IN (:slot_1 …)))) AS first JOIN resource_providers AS
            root ON root.id = first.id
  WHERE +root.parent_provider_id IS NULL AND +first.id > :after) AS roots
GROUP BY roots.id >> 12;

-- beginning with resources
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS revision
  FROM (SELECT STRAIGHT_JOIN DISTINCT +member.root_provider_id AS id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_0 AND inventories.used + :slot_1 <=
        inventories.capacity AND inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1
        AND :slot_1 % inventories.step_size = 0) AS first JOIN resource_providers AS root ON root.id
        = first.id
  WHERE +root.parent_provider_id IS NULL AND +first.id > :after) AS roots
GROUP BY roots.id >> 12;

-- beginning with parts_of
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS revision
  FROM (SELECT STRAIGHT_JOIN DISTINCT +member.root_provider_id AS id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_0 AND inventories.used < inventories.capacity) AS
        first JOIN resource_providers AS root ON root.id = first.id
  WHERE +root.parent_provider_id IS NULL AND +first.id > :after) AS roots
GROUP BY roots.id >> 12;

-- with room for one of two
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS revision
  FROM (SELECT member.root_provider_id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_0 AND inventories.used + :slot_1 <=
        inventories.capacity AND inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1
        AND :slot_1 % inventories.step_size = 0
    UNION
    SELECT member.root_provider_id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_2 AND inventories.used + :slot_3 <=
        inventories.capacity AND inventories.min_unit <= :slot_3 AND inventories.max_unit >= :slot_3
        AND :slot_3 % inventories.step_size = 0) AS first JOIN resource_providers AS root ON root.id
        = first.root_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.root_provider_id > :after) AS roots
GROUP BY roots.id >> 12;
