-- cards.use: Select all providers of trees with a card, each with one of its used classes or null.
SELECT resource_providers.id, resource_providers.parent_provider_id, resource_providers.uuid,
    resource_providers.name, CASE WHEN (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND traits.name IN
        (:traits …))) THEN 1 ELSE 0 END AS is_card, inventories.resource_class_id,
        resource_classes.name AS resource_class
FROM resource_providers LEFT OUTER JOIN inventories ON inventories.resource_provider_id =
    resource_providers.id AND inventories.used > 0 LEFT OUTER JOIN resource_classes ON
    resource_classes.id = inventories.resource_class_id
WHERE resource_providers.root_provider_id IN (SELECT card.root_provider_id
  FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id JOIN
      resource_providers AS card ON card.id = resource_provider_traits.resource_provider_id
  WHERE traits.name IN (:traits …))
ORDER BY resource_providers.name, resource_classes.name;

-- cards.use_in_trees: Select the rows of `use` in trees with these roots.
SELECT resource_providers.id, resource_providers.parent_provider_id, resource_providers.uuid,
    resource_providers.name, CASE WHEN (EXISTS (SELECT 1 AS anon_1
    FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
    WHERE resource_provider_traits.resource_provider_id = resource_providers.id AND traits.name IN
        (:traits …))) THEN 1 ELSE 0 END AS is_card, inventories.resource_class_id,
        resource_classes.name AS resource_class
FROM resource_providers LEFT OUTER JOIN inventories ON inventories.resource_provider_id =
    resource_providers.id AND inventories.used > 0 LEFT OUTER JOIN resource_classes ON
    resource_classes.id = inventories.resource_class_id
WHERE resource_providers.root_provider_id IN (:ids …) AND resource_providers.root_provider_id IN
    (SELECT card.root_provider_id
  FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id JOIN
      resource_providers AS card ON card.id = resource_provider_traits.resource_provider_id
  WHERE traits.name IN (:traits …) AND card.root_provider_id IN (:ids …))
ORDER BY resource_providers.name, resource_classes.name;
