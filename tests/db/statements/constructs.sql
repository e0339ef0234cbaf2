-- any_text
resource_providers.name;  -- sqlite
CONVERT(resource_providers.name USING utf8mb4);  -- mysql
resource_providers.name;  -- postgresql

-- clock
CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER);  -- sqlite
(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000);  -- mysql
CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT);  -- postgresql

-- force_index
SELECT inventories.id FROM inventories;  -- sqlite
SELECT inventories.id FROM inventories FORCE INDEX (uniq_inventories0resource_provider_resource_class);  -- mysql
SELECT inventories.id FROM inventories;  -- postgresql

-- insert_unless_present
INSERT INTO traits (created_at, updated_at, id, name) VALUES (:created_at, :updated_at, :id, :name) ON CONFLICT DO NOTHING;  -- sqlite
INSERT INTO traits (created_at, updated_at, id, name) VALUES (:created_at, :updated_at, :id, :name) ON DUPLICATE KEY UPDATE created_at = created_at;  -- mysql
INSERT INTO traits (created_at, updated_at, id, name) VALUES (:created_at, :updated_at, :id, :name) ON CONFLICT DO NOTHING;  -- postgresql

-- json_row
json_array(resource_providers.id, resource_providers.name, json(printf('%!.17g', inventories.allocation_ratio)), resource_providers.created_at);  -- sqlite
CONCAT('[', IFNULL(resource_providers.id, 'null'), ',', IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(inventories.allocation_ratio, 'null'), ',', IFNULL(CONCAT('"', resource_providers.created_at, '"'), 'null'), ']');  -- mysql
CAST(json_build_array(resource_providers.id, resource_providers.name, inventories.allocation_ratio, resource_providers.created_at) AS TEXT);  -- postgresql

-- json_rows
json_group_array(json_array(resource_providers.id, resource_providers.name, json(printf('%!.17g', inventories.allocation_ratio)), resource_providers.created_at));  -- sqlite
CONCAT('[', GROUP_CONCAT(CONCAT('[', IFNULL(resource_providers.id, 'null'), ',', IFNULL(JSON_QUOTE(resource_providers.name), 'null'), ',', IFNULL(inventories.allocation_ratio, 'null'), ',', IFNULL(CONCAT('"', resource_providers.created_at, '"'), 'null'), ']')), ']');  -- mysql
CAST(json_agg(json_build_array(resource_providers.id, resource_providers.name, inventories.allocation_ratio, resource_providers.created_at)) AS TEXT);  -- postgresql

-- locked_in_order
resource_providers.id IN (__[POSTCOMPILE_ids]);  -- sqlite
resource_providers.id IN (__[POSTCOMPILE_ids]);  -- mysql
resource_providers.id = ANY (array((SELECT resource_providers.id FROM resource_providers)));  -- postgresql

-- same_identifier
resource_providers.uuid = consumers.uuid;  -- sqlite
(resource_providers.uuid = CONVERT(consumers.uuid USING ascii) AND consumers.uuid = CONVERT(resource_providers.uuid USING ascii));  -- mysql
resource_providers.uuid = consumers.uuid;  -- postgresql

-- same_text
resource_providers.name = :param_1;  -- sqlite
(resource_providers.name = :param_1 AND CAST(CONVERT(resource_providers.name USING utf8mb4) AS BINARY) = CAST(CONVERT(:param_1 USING utf8mb4) AS BINARY));  -- mysql
resource_providers.name = :param_1;  -- postgresql

-- straight_join
SELECT resource_providers.id FROM resource_providers;  -- sqlite
SELECT STRAIGHT_JOIN resource_providers.id FROM resource_providers;  -- mysql
SELECT resource_providers.id FROM resource_providers;  -- postgresql

-- with_for_update
SELECT resource_providers.id FROM resource_providers;  -- sqlite
SELECT resource_providers.id FROM resource_providers FOR UPDATE;  -- mysql
SELECT resource_providers.id FROM resource_providers FOR UPDATE;  -- postgresql

-- with_for_update, key_share
SELECT resource_providers.id FROM resource_providers;  -- sqlite
SELECT resource_providers.id FROM resource_providers FOR UPDATE;  -- mysql
SELECT resource_providers.id FROM resource_providers FOR NO KEY UPDATE;  -- postgresql

-- with_for_update, read
SELECT resource_providers.id FROM resource_providers;  -- sqlite
SELECT resource_providers.id FROM resource_providers LOCK IN SHARE MODE;  -- mysql
SELECT resource_providers.id FROM resource_providers FOR SHARE;  -- postgresql

-- without_index
+resource_providers.id;  -- sqlite
resource_providers.id;  -- mysql
resource_providers.id;  -- postgresql
