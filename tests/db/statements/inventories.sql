-- inventories.create: Insert inventories. The database initializes `used` from existing allocations.
INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,
    max_unit, step_size, allocation_ratio, capacity, created_at, used)
VALUES (:resource_provider_id_0, :resource_class_id_0, :total_0, :reserved_0, :min_unit_0,
    :max_unit_0, :step_size_0, :allocation_ratio_0, :capacity_0, :created_at_0, (SELECT
    COALESCE(SUM(allocations.used), 0) FROM allocations
    WHERE allocations.resource_provider_id = :resource_provider_id_0 AND
        allocations.resource_class_id = :resource_class_id_0));

-- inventories.create_unused: Insert inventories as `create` does, of providers that have no allocations.
INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,
    max_unit, step_size, allocation_ratio, capacity, created_at, used)
VALUES (:resource_provider_id_0, :resource_class_id_0, :total_0, :reserved_0, :min_unit_0,
    :max_unit_0, :step_size_0, :allocation_ratio_0, :capacity_0, :created_at_0, :used_0);

-- inventories.delete_unused: Delete inventories without allocations. Inventories with allocations do not match.
DELETE FROM inventories
WHERE inventories.used = 0 AND inventories.id IN (:ids …);

-- inventories.everywhere: Select the inventories of all providers, with their usage.
SELECT resource_providers.name AS provider, root.name AS root, resource_classes.name AS class_name,
    inventories.total, inventories.reserved, inventories.allocation_ratio, inventories.used,
    resource_providers.generation
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id JOIN
    resource_providers ON resource_providers.id = inventories.resource_provider_id JOIN
    resource_providers AS root ON root.id = resource_providers.root_provider_id
ORDER BY inventories.resource_provider_id, inventories.resource_class_id;

-- inventories.for_providers: Select (time of the last change, values for `inventory_rows.from_list`) of inventories.
SELECT json_row(inventories.resource_provider_id, inventories.resource_class_id,
    resource_classes.name, inventories.id, inventories.used, inventories.total,
    inventories.reserved, inventories.min_unit, inventories.max_unit, inventories.step_size,
    inventories.allocation_ratio, coalesce(inventories.updated_at, inventories.created_at)) AS
    json_row_1
FROM inventories JOIN resource_classes ON resource_classes.id = inventories.resource_class_id
WHERE inventories.resource_provider_id IN (:ids …)
ORDER BY inventories.resource_provider_id, inventories.resource_class_id;

-- inventories.move_used: Add amounts to `used` of inventories, if their capacity and units allow it.

-- of what somebody gets
UPDATE inventories
SET used=CASE WHEN (inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1 THEN
    :delta_1 END >= 0) THEN inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN
    :id_1 THEN :delta_1 END ELSE (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) END
WHERE inventories.id IN (:ids …) AND (CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1 THEN
    :delta_1 END <= 0 OR inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1
    THEN :delta_1 END <= inventories.capacity) AND inventories.min_unit <= CASE inventories.id WHEN
    :id_0 THEN :least_0 WHEN :id_1 THEN :least_1 END AND inventories.max_unit >= CASE inventories.id
    WHEN :id_0 THEN :most_0 WHEN :id_1 THEN :most_1 END AND CASE inventories.id WHEN :id_0 THEN
    :divisor_0 WHEN :id_1 THEN :divisor_1 END % inventories.step_size = 0;

-- of new claims
UPDATE inventories
SET used=(inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1 THEN :delta_1
    END)
WHERE inventories.id IN (:ids …) AND (CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1 THEN
    :delta_1 END <= 0 OR inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1
    THEN :delta_1 END <= inventories.capacity) AND inventories.min_unit <= CASE inventories.id WHEN
    :id_0 THEN :least_0 WHEN :id_1 THEN :least_1 END AND inventories.max_unit >= CASE inventories.id
    WHEN :id_0 THEN :most_0 WHEN :id_1 THEN :most_1 END AND CASE inventories.id WHEN :id_0 THEN
    :divisor_0 WHEN :id_1 THEN :divisor_1 END % inventories.step_size = 0;

-- of what is given back
UPDATE inventories
SET used=CASE WHEN (inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN :id_1 THEN
    :delta_1 END >= 0) THEN inventories.used + CASE inventories.id WHEN :id_0 THEN :delta_0 WHEN
    :id_1 THEN :delta_1 END ELSE (SELECT coalesce(sum(allocations.used), 0) AS coalesce_1
  FROM allocations
  WHERE allocations.resource_provider_id = inventories.resource_provider_id AND
      allocations.resource_class_id = inventories.resource_class_id) END
WHERE inventories.id IN (:ids …);

-- inventories.take: Add amounts to `used` of inventories, if their capacity and units allow it.
UPDATE inventories
SET used=(inventories.used + CASE WHEN (inventories.resource_provider_id = :provider_0 AND
    inventories.resource_class_id = :class_0) THEN :delta_0 WHEN (inventories.resource_provider_id =
    :provider_1 AND inventories.resource_class_id = :class_1) THEN :delta_1 END)
WHERE inventories.resource_provider_id = :provider_0 AND inventories.resource_class_id = :class_0
    AND inventories.used + :delta_0 <= inventories.capacity AND inventories.min_unit <= :least_0 AND
    inventories.max_unit + 0 >= :most_0 AND :divisor_0 % inventories.step_size = 0 OR
    inventories.resource_provider_id = :provider_1 AND inventories.resource_class_id = :class_1 AND
    inventories.used + :delta_1 <= inventories.capacity AND inventories.min_unit <= :least_1 AND
    inventories.max_unit + 0 >= :most_1 AND :divisor_1 % inventories.step_size = 0;

-- inventories.update: Set the FIELDS of inventories, by id.
UPDATE inventories
SET updated_at=:now, total=CASE inventories.id WHEN :id_0 THEN :new_total_0 END, reserved=CASE
    inventories.id WHEN :id_0 THEN :new_reserved_0 END, min_unit=CASE inventories.id WHEN :id_0 THEN
    :new_min_unit_0 END, max_unit=CASE inventories.id WHEN :id_0 THEN :new_max_unit_0 END,
    step_size=CASE inventories.id WHEN :id_0 THEN :new_step_size_0 END, allocation_ratio=CASE
    inventories.id WHEN :id_0 THEN :new_allocation_ratio_0 END, capacity=CASE inventories.id WHEN
    :id_0 THEN :new_capacity_0 END
WHERE inventories.id IN (:ids …);
