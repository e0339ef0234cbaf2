-- trees.members: Select the members of trees, in any order. A row is a `MemberRow`.
SELECT resource_providers.root_provider_id, resource_providers.id,
    resource_providers.parent_provider_id, resource_providers.revision, resource_providers.uuid,
    (SELECT json_rows(resource_classes.name, inventories.capacity, inventories.used,
    inventories.min_unit, inventories.max_unit, inventories.step_size) AS json_rows_1
  FROM inventories FORCE INDEX (uniq_inventories0resource_provider_resource_class) JOIN
      resource_classes ON resource_classes.id = inventories.resource_class_id
  WHERE inventories.resource_provider_id = resource_providers.id) AS stocks, (SELECT
      json_rows(resource_provider_traits.trait_id) AS json_rows_2
  FROM resource_provider_traits
  WHERE resource_provider_traits.resource_provider_id = resource_providers.id) AS traits, (SELECT
      json_rows(placement_aggregates.uuid) AS json_rows_3
  FROM resource_provider_aggregates JOIN placement_aggregates ON placement_aggregates.id =
      resource_provider_aggregates.aggregate_id
  WHERE resource_provider_aggregates.resource_provider_id = resource_providers.id) AS aggregates
FROM resource_providers FORCE INDEX (resource_providers_root_provider_id_idx)
WHERE resource_providers.root_provider_id IN (:ids …);

-- trees.trait_names: Select (id, name) of traits, by name.
SELECT traits.id, traits.name
FROM traits
WHERE traits.id IN (:ids …)
ORDER BY traits.name;
