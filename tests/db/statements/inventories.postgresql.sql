-- inventories.create: Insert inventories; `used` starts with what is already allocated against each.
INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,
    max_unit, step_size, allocation_ratio, capacity, created_at, used)
VALUES (:resource_provider_id_0::INTEGER, :resource_class_id_0::INTEGER, :total_0::INTEGER,
    :reserved_0::INTEGER, :min_unit_0::INTEGER, :max_unit_0::INTEGER, :step_size_0::INTEGER,
    :allocation_ratio_0, :capacity_0::BIGINT, :created_at_0::TIMESTAMP WITHOUT TIME ZONE, (SELECT
    COALESCE(SUM(allocations.used), 0) FROM allocations
    WHERE allocations.resource_provider_id = :resource_provider_id_0::INTEGER AND
        allocations.resource_class_id = :resource_class_id_0::INTEGER));


-- inventories.delete_unused: Delete inventories against which nothing is allocated; others are not matched.
DELETE FROM inventories
WHERE inventories.used = 0 AND inventories.id IN (:ids …);


-- inventories.everywhere: Select what every provider has and uses of every class.
SELECT resource_providers.name AS provider, resource_classes.name AS class_name, inventories.total,
    inventories.reserved, inventories.allocation_ratio, inventories.used,
    resource_providers.generation
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id JOIN
    resource_providers ON resource_providers.id = inventories.resource_provider_id
ORDER BY inventories.resource_provider_id, inventories.resource_class_id;


-- inventories.move_used: Add to `used`, by inventory id, where it does not grow beyond the capacity.

-- of what somebody gets
UPDATE inventories
SET used=(inventories.used + CASE inventories.id WHEN :id_0::INTEGER THEN :delta_0::BIGINT WHEN
    :id_1::INTEGER THEN :delta_1::BIGINT END)
WHERE inventories.id IN (:ids …) AND (CASE inventories.id WHEN :id_0::INTEGER THEN :delta_0::BIGINT
    WHEN :id_1::INTEGER THEN :delta_1::BIGINT END <= 0 OR inventories.used + CASE inventories.id
    WHEN :id_0::INTEGER THEN :delta_0::BIGINT WHEN :id_1::INTEGER THEN :delta_1::BIGINT END <=
    inventories.capacity) AND inventories.min_unit <= CASE inventories.id WHEN :id_0::INTEGER THEN
    :least_0::INTEGER WHEN :id_1::INTEGER THEN :least_1::INTEGER END AND inventories.max_unit >=
    CASE inventories.id WHEN :id_0::INTEGER THEN :most_0::INTEGER WHEN :id_1::INTEGER THEN
    :most_1::INTEGER END AND CASE inventories.id WHEN :id_0::INTEGER THEN :divisor_0::INTEGER WHEN
    :id_1::INTEGER THEN :divisor_1::INTEGER END % inventories.step_size = 0;

-- of what is given back
UPDATE inventories
SET used=(inventories.used + CASE inventories.id WHEN :id_0::INTEGER THEN :delta_0::BIGINT WHEN
    :id_1::INTEGER THEN :delta_1::BIGINT END)
WHERE inventories.id IN (:ids …);


-- inventories.of_providers: Select all inventories of the providers, with the names of their classes.
SELECT inventories.id, inventories.resource_provider_id AS provider_id,
    inventories.resource_class_id AS class_id, resource_classes.name AS class_name,
    inventories.used, inventories.total, inventories.reserved, inventories.min_unit,
    inventories.max_unit, inventories.step_size, inventories.allocation_ratio, inventories.capacity,
    coalesce(inventories.updated_at, inventories.created_at) AS changed_at
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
ORDER BY inventories.resource_provider_id, inventories.resource_class_id;


-- inventories.take: Add to `used`, by provider and class (ids), where it does not grow beyond the capacity.
UPDATE inventories
SET used=(inventories.used + CASE WHEN (inventories.resource_provider_id = :provider_0::INTEGER AND
    inventories.resource_class_id = :class_0::INTEGER) THEN :amount_0::BIGINT WHEN
    (inventories.resource_provider_id = :provider_1::INTEGER AND inventories.resource_class_id =
    :class_1::INTEGER) THEN :amount_1::BIGINT END)
WHERE (inventories.resource_provider_id = :provider_0::INTEGER AND inventories.resource_class_id =
    :class_0::INTEGER OR inventories.resource_provider_id = :provider_1::INTEGER AND
    inventories.resource_class_id = :class_1::INTEGER) AND inventories.used + CASE WHEN
    (inventories.resource_provider_id = :provider_0::INTEGER AND inventories.resource_class_id =
    :class_0::INTEGER) THEN :amount_0::BIGINT WHEN (inventories.resource_provider_id =
    :provider_1::INTEGER AND inventories.resource_class_id = :class_1::INTEGER) THEN
    :amount_1::BIGINT END <= inventories.capacity;


-- inventories.update: Set the FIELDS of inventories, by id.
UPDATE inventories
SET updated_at=:now::TIMESTAMP WITHOUT TIME ZONE, total=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_total_0::INTEGER END, reserved=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_reserved_0::INTEGER END, min_unit=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_min_unit_0::INTEGER END, max_unit=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_max_unit_0::INTEGER END, step_size=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_step_size_0::INTEGER END, allocation_ratio=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_allocation_ratio_0 END, capacity=CASE inventories.id WHEN :id_0::INTEGER THEN
    :new_capacity_0::BIGINT END
WHERE inventories.id IN (:ids …);
