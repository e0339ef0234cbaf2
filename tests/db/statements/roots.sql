-- roots.driven_roots: Select (id, revision) of the roots with a member that satisfies a part of a condition.

-- beginning with aggregates
SELECT json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT STRAIGHT_JOIN root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision
    END AS revision
  FROM resource_provider_aggregates AS link JOIN resource_providers AS reached ON reached.id =
      link.resource_provider_id JOIN resource_providers AS root ON root.id =
      reached.root_provider_id
  WHERE link.aggregate_id IN (:slot_0 …) AND (EXISTS (SELECT 1 AS anon_1
      FROM resource_provider_aggregates
      WHERE resource_provider_aggregates.resource_provider_id = reached.id AND
          resource_provider_aggregates.aggregate_id IN (:slot_1 …))) AND +root.parent_provider_id IS
          NULL AND +reached.root_provider_id > :after
  LIMIT :size) AS roots;

-- beginning with traits
SELECT json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT STRAIGHT_JOIN root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision
    END AS revision
  FROM resource_provider_traits AS trait_link JOIN resource_providers AS member ON member.id =
      trait_link.resource_provider_id JOIN resource_providers AS root ON root.id =
      member.root_provider_id
  WHERE trait_link.trait_id IN (:slot_0 …) AND (EXISTS (SELECT 1 AS anon_1
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = member.id AND
          resource_provider_traits.trait_id IN (:slot_1 …))) AND +root.parent_provider_id IS NULL
          AND +member.root_provider_id > :after
  LIMIT :size) AS roots;

-- beginning with resources
SELECT json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT STRAIGHT_JOIN root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision
    END AS revision
  FROM inventories JOIN resource_providers AS member ON member.id = inventories.resource_provider_id
      JOIN resource_providers AS root ON root.id = member.root_provider_id
  WHERE inventories.resource_class_id = :slot_0 AND inventories.used + :slot_1 <=
      inventories.capacity AND inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1
      AND :slot_1 % inventories.step_size = 0 AND +root.parent_provider_id IS NULL AND
      +member.root_provider_id > :after
  LIMIT :size) AS roots;

-- beginning with parts_of
SELECT json_rows(roots.id, roots.revision) AS json_rows_1
FROM (SELECT STRAIGHT_JOIN root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision
    END AS revision
  FROM inventories JOIN resource_providers AS member ON member.id = inventories.resource_provider_id
      JOIN resource_providers AS root ON root.id = member.root_provider_id
  WHERE inventories.resource_class_id = :slot_0 AND inventories.used < inventories.capacity AND
      +root.parent_provider_id IS NULL AND +member.root_provider_id > :after
  LIMIT :size) AS roots;

-- roots.matching_roots: Select (id, revision, matches) of the roots after an id, by id.

-- with room, beginning with what is rare
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, EXISTS (SELECT member.root_provider_id
    FROM resource_providers AS member
    WHERE (EXISTS (SELECT 1 AS anon_1
        FROM inventories
        WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
            :slot_0 AND inventories.used + :slot_1 <= inventories.capacity AND inventories.min_unit
            <= :slot_1 AND inventories.max_unit >= :slot_1 AND :slot_1 % inventories.step_size = 0))
            AND (EXISTS (SELECT 1 AS anon_2
        FROM inventories
        WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
            :slot_2 AND inventories.used + :slot_3 <= inventories.capacity AND inventories.min_unit
            <= :slot_3 AND inventories.max_unit >= :slot_3 AND :slot_3 % inventories.step_size = 0))
            AND member.root_provider_id = root.id) AS matches
  FROM (SELECT STRAIGHT_JOIN DISTINCT member.root_provider_id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_0 AND inventories.used + :slot_1 <=
        inventories.capacity AND inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1
        AND :slot_1 % inventories.step_size = 0) AS first JOIN resource_providers AS root ON root.id
        = first.root_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.root_provider_id > :after) AS roots
GROUP BY roots.id >> 12;

-- all conditions of a member, beginning with traits
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, (EXISTS (SELECT member.root_provider_id
      FROM resource_providers AS member
      WHERE (EXISTS (SELECT 1 AS anon_1
          FROM inventories
          WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
              :slot_2 AND inventories.used + :slot_3 <= inventories.capacity AND
              inventories.min_unit <= :slot_3 AND inventories.max_unit >= :slot_3 AND :slot_3 %
              inventories.step_size = 0)) AND (EXISTS (SELECT 1 AS anon_2
          FROM inventories
          WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
              :slot_4 AND inventories.used + :slot_5 <= inventories.capacity AND
              inventories.min_unit <= :slot_5 AND inventories.max_unit >= :slot_5 AND :slot_5 %
              inventories.step_size = 0)) AND member.root_provider_id = root.id)) AND (EXISTS
              (SELECT member.root_provider_id
      FROM resource_providers AS member
      WHERE (EXISTS (SELECT 1 AS anon_3
          FROM inventories
          WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
              :slot_6 AND inventories.used + :slot_7 <= inventories.capacity AND
              inventories.min_unit <= :slot_7 AND inventories.max_unit >= :slot_7 AND :slot_7 %
              inventories.step_size = 0)) AND (EXISTS (SELECT 1 AS anon_4
          FROM resource_provider_traits
          WHERE resource_provider_traits.resource_provider_id = member.id AND
              resource_provider_traits.trait_id IN (:slot_0 …))) AND (EXISTS (SELECT 1 AS anon_5
          FROM resource_provider_traits
          WHERE resource_provider_traits.resource_provider_id = member.id AND
              resource_provider_traits.trait_id IN (:slot_1 …))) AND NOT (EXISTS (SELECT 1 AS anon_6
          FROM resource_provider_traits
          WHERE resource_provider_traits.resource_provider_id = member.id AND
              resource_provider_traits.trait_id IN (:slot_8 …))) AND (EXISTS (SELECT 1 AS anon_7
          FROM resource_provider_aggregates
          WHERE resource_provider_aggregates.resource_provider_id = member.id AND
              resource_provider_aggregates.aggregate_id IN (:slot_9 …))) AND NOT (EXISTS (SELECT 1
              AS anon_8
          FROM resource_provider_aggregates
          WHERE resource_provider_aggregates.resource_provider_id = member.id AND
              resource_provider_aggregates.aggregate_id IN (:slot_10 …))) AND
              member.root_provider_id = root.id)) AS matches
  FROM (SELECT STRAIGHT_JOIN DISTINCT member.root_provider_id
    FROM resource_provider_traits AS trait_link JOIN resource_providers AS member ON member.id =
        trait_link.resource_provider_id
    WHERE trait_link.trait_id IN (:slot_0 …) AND (EXISTS (SELECT 1 AS anon_9
        FROM resource_provider_traits
        WHERE resource_provider_traits.resource_provider_id = member.id AND
            resource_provider_traits.trait_id IN (:slot_1 …)))) AS first JOIN resource_providers AS
            root ON root.id = first.root_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.root_provider_id > :after) AS roots
GROUP BY roots.id >> 12;

-- aggregates of the root or of a member, beginning with them
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, EXISTS (SELECT member.root_provider_id
    FROM resource_providers AS member
    WHERE ((EXISTS (SELECT 1 AS anon_1
          FROM resource_provider_aggregates
          WHERE resource_provider_aggregates.resource_provider_id = member.id AND
              resource_provider_aggregates.aggregate_id IN (:slot_0 …))) OR (EXISTS (SELECT 1 AS
              anon_2
          FROM resource_provider_aggregates
          WHERE resource_provider_aggregates.resource_provider_id = member.root_provider_id AND
              resource_provider_aggregates.aggregate_id IN (:slot_0 …)))) AND
              member.root_provider_id = root.id) AS matches
  FROM (SELECT STRAIGHT_JOIN DISTINCT reached.root_provider_id
    FROM resource_provider_aggregates AS link JOIN resource_providers AS reached ON reached.id =
        link.resource_provider_id
    WHERE link.aggregate_id IN (:slot_0 …)) AS first JOIN resource_providers AS root ON root.id =
        first.root_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.root_provider_id > :after) AS roots
GROUP BY roots.id >> 12;

-- of the root, beginning with its traits
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, (SELECT count(*) AS count_1
    FROM resource_provider_traits
    WHERE resource_provider_traits.resource_provider_id = root.id AND
        resource_provider_traits.trait_id IN (:slot_0 …)) = 1 AND NOT (EXISTS (SELECT 1 AS anon_1
      FROM resource_provider_traits
      WHERE resource_provider_traits.resource_provider_id = root.id AND
          resource_provider_traits.trait_id IN (:slot_1 …))) AND NOT (EXISTS (SELECT 1 AS anon_2
      FROM resource_provider_aggregates
      WHERE resource_provider_aggregates.resource_provider_id = root.id AND
          resource_provider_aggregates.aggregate_id IN (:slot_2 …))) AND (EXISTS (SELECT
          member.root_provider_id
      FROM resource_providers AS member
      WHERE (EXISTS (SELECT 1 AS anon_3
          FROM inventories
          WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
              :slot_3 AND inventories.used + :slot_4 <= inventories.capacity AND
              inventories.min_unit <= :slot_4 AND inventories.max_unit >= :slot_4 AND :slot_4 %
              inventories.step_size = 0)) AND (EXISTS (SELECT 1 AS anon_4
          FROM inventories
          WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
              :slot_5 AND inventories.used + :slot_6 <= inventories.capacity AND
              inventories.min_unit <= :slot_6 AND inventories.max_unit >= :slot_6 AND :slot_6 %
              inventories.step_size = 0)) AND member.root_provider_id = root.id)) AS matches
  FROM (SELECT resource_provider_traits.resource_provider_id
    FROM resource_provider_traits
    WHERE resource_provider_traits.trait_id IN (:slot_0 …)
    GROUP BY resource_provider_traits.resource_provider_id
    HAVING count(*) = 1) AS first JOIN resource_providers AS root ON root.id =
        first.resource_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.resource_provider_id > :after) AS roots
GROUP BY roots.id >> 12;

-- from elsewhere, or by a member of its own
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, (EXISTS (SELECT member.root_provider_id
      FROM resource_providers AS member
      WHERE (EXISTS (SELECT 1 AS anon_1
          FROM inventories
          WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
              :slot_0 AND inventories.used + :slot_1 <= inventories.capacity AND
              inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1 AND :slot_1 %
              inventories.step_size = 0)) AND member.root_provider_id = root.id)) OR (EXISTS (SELECT
              reached.root_provider_id
      FROM resource_provider_aggregates AS link JOIN resource_providers AS reached ON reached.id =
          link.resource_provider_id
      WHERE link.aggregate_id IN (:slot_2 …) AND reached.root_provider_id = root.id)) AS matches
  FROM (SELECT member.root_provider_id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_0 AND inventories.used + :slot_1 <=
        inventories.capacity AND inventories.min_unit <= :slot_1 AND inventories.max_unit >= :slot_1
        AND :slot_1 % inventories.step_size = 0) AS first JOIN resource_providers AS root ON root.id
        = first.root_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.root_provider_id > :after) AS roots
GROUP BY roots.id >> 12;

-- some of a class, beginning with it
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, EXISTS (SELECT member.root_provider_id
    FROM resource_providers AS member
    WHERE (EXISTS (SELECT 1 AS anon_1
        FROM inventories
        WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
            :slot_0 AND inventories.used < inventories.capacity)) AND NOT (EXISTS (SELECT 1 AS
            anon_2
        FROM resource_provider_traits
        WHERE resource_provider_traits.resource_provider_id = member.id AND
            resource_provider_traits.trait_id IN (:slot_1 …))) AND member.root_provider_id =
            root.id) AS matches
  FROM (SELECT STRAIGHT_JOIN DISTINCT member.root_provider_id
    FROM inventories JOIN resource_providers AS member ON member.id =
        inventories.resource_provider_id
    WHERE inventories.resource_class_id = :slot_0 AND inventories.used < inventories.capacity) AS
        first JOIN resource_providers AS root ON root.id = first.root_provider_id
  WHERE +root.parent_provider_id IS NULL AND +first.root_provider_id > :after) AS roots
GROUP BY roots.id >> 12;

-- in one tree
SELECT STRAIGHT_JOIN json_rows(roots.id, roots.revision, CASE WHEN roots.matches THEN 1 ELSE 0 END)
    AS json_rows_1
FROM (SELECT root.id, CASE WHEN (root.root_provider_id = root.id) THEN root.revision END AS
    revision, EXISTS (SELECT member.root_provider_id
    FROM resource_providers AS member
    WHERE (EXISTS (SELECT 1 AS anon_1
        FROM inventories
        WHERE inventories.resource_provider_id = member.id AND inventories.resource_class_id =
            :slot_0 AND inventories.used + :slot_1 <= inventories.capacity AND inventories.min_unit
            <= :slot_1 AND inventories.max_unit >= :slot_1 AND :slot_1 % inventories.step_size = 0))
            AND member.root_provider_id = :slot_2 AND member.root_provider_id = root.id) AS matches
  FROM resource_providers AS root
  WHERE root.parent_provider_id IS NULL AND root.id > :after AND root.id = :slot_2) AS roots
GROUP BY roots.id >> 12;
