-- associations.add: Add traits or aggregates that the providers do not have.

-- trait
INSERT INTO resource_provider_traits (resource_provider_id, trait_id, created_at)
VALUES (:resource_provider_id_0, :trait_id_0, :created_at_0);

-- aggregate
INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id, created_at)
VALUES (:resource_provider_id_0, :aggregate_id_0, :created_at_0);

-- associations.remove: Remove traits or aggregates that the providers have.

-- traits of a provider
DELETE FROM resource_provider_traits
WHERE resource_provider_traits.resource_provider_id IN (:ids …) AND
    resource_provider_traits.trait_id IN (:linked …);

-- aggregates of several
DELETE FROM resource_provider_aggregates
WHERE resource_provider_aggregates.resource_provider_id IN (:ids …) AND
    (resource_provider_aggregates.resource_provider_id, resource_provider_aggregates.aggregate_id)
    IN ((1, 2), (3, 4));

-- associations.traits_of: Select (id, name, changed_at) of the traits of a provider.
SELECT traits.id, traits.name, coalesce(traits.updated_at, traits.created_at) AS changed_at
FROM resource_provider_traits JOIN traits ON traits.id = resource_provider_traits.trait_id
WHERE resource_provider_traits.resource_provider_id = :provider_id
ORDER BY traits.name;
