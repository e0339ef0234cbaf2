-- locks.renew_and_bump: Set a new revision of a few trees, and increment the generations of some of their providers.

-- a tree, and a provider in it
UPDATE resource_providers
SET updated_at=CASE WHEN (resource_providers.id IN (:bumped …)) THEN :now ELSE
    resource_providers.updated_at END, generation=(resource_providers.generation + CASE WHEN
    (resource_providers.id IN (:bumped …)) THEN 1 ELSE 0 END), revision=CASE WHEN
    (resource_providers.id IN (:roots …)) THEN :new_revision ELSE resource_providers.revision END
WHERE resource_providers.id = ANY (array((SELECT locked.id
      FROM resource_providers AS locked
      WHERE locked.id IN (:ids …)
      ORDER BY locked.id = locked.root_provider_id DESC, locked.id FOR NO KEY UPDATE))) AND
          ((resource_providers.id NOT IN (:roots …)) OR resource_providers.id = :root_0 AND
          resource_providers.revision = :revision_0);

-- a root and its generation, as it was read
UPDATE resource_providers
SET updated_at=CASE WHEN (resource_providers.id IN (:bumped …)) THEN :now ELSE
    resource_providers.updated_at END, generation=(resource_providers.generation + CASE WHEN
    (resource_providers.id IN (:bumped …)) THEN 1 ELSE 0 END), revision=CASE WHEN
    (resource_providers.id IN (:roots …)) THEN :new_revision ELSE resource_providers.revision END
WHERE resource_providers.id = ANY (array((SELECT locked.id
      FROM resource_providers AS locked
      WHERE locked.id IN (:ids …)
      ORDER BY locked.id = locked.root_provider_id DESC, locked.id FOR NO KEY UPDATE))) AND
          ((resource_providers.id NOT IN (:roots …)) OR resource_providers.id = :root_0 AND
          resource_providers.revision = :revision_0) AND (resource_providers.id != :provider_0 OR
          resource_providers.generation = :generation_0);

-- a root
UPDATE resource_providers
SET revision=CASE WHEN (resource_providers.id IN (:roots …)) THEN :new_revision ELSE
    resource_providers.revision END
WHERE resource_providers.id = ANY (array((SELECT locked.id
      FROM resource_providers AS locked
      WHERE locked.id IN (:ids …)
      ORDER BY locked.id = locked.root_provider_id DESC, locked.id FOR NO KEY UPDATE))) AND
          ((resource_providers.id NOT IN (:roots …)) OR resource_providers.id = :root_0 AND
          resource_providers.revision = :revision_0);

-- a tree, and providers in shared ones
UPDATE resource_providers
SET updated_at=CASE WHEN (resource_providers.id IN (:bumped …)) THEN :now ELSE
    resource_providers.updated_at END, generation=(resource_providers.generation + CASE WHEN
    (resource_providers.id IN (:bumped …)) THEN 1 ELSE 0 END), revision=CASE WHEN
    (resource_providers.id IN (:roots …)) THEN :new_revision ELSE resource_providers.revision END
WHERE resource_providers.id = ANY (array((SELECT locked.id
      FROM resource_providers AS locked
      WHERE locked.id IN (:ids …)
      ORDER BY locked.id = locked.root_provider_id DESC, locked.id FOR NO KEY UPDATE))) AND
          ((resource_providers.id NOT IN (:roots …)) OR resource_providers.id = :root_0 AND
          resource_providers.revision = :revision_0 OR resource_providers.id IN (:shared_roots …))
          AND (resource_providers.id != :shared_0 OR resource_providers.uuid = :uuid_0 AND
          :shared_root_0 = resource_providers.root_provider_id + 0) AND (resource_providers.id !=
          :shared_1 OR resource_providers.uuid = :uuid_1 AND :shared_root_1 =
          resource_providers.root_provider_id + 0);

-- locks.renew_revisions: Set a new revision of trees. This locks the trees until the transaction ends.
UPDATE resource_providers
SET revision=:new_revision
WHERE resource_providers.id IN (:ids …);

-- locks.renew_where_seen: Set a new revision of trees, and increment the generations of some of their providers.

-- with generations
UPDATE resource_providers
SET updated_at=CASE WHEN (resource_providers.id IN (:bumped …)) THEN :now ELSE
    resource_providers.updated_at END, generation=(resource_providers.generation + CASE WHEN
    (resource_providers.id IN (:bumped …)) THEN 1 ELSE 0 END), revision=CASE WHEN
    (resource_providers.id = resource_providers.root_provider_id) THEN :new_revision ELSE
    resource_providers.revision END
WHERE resource_providers.id = ANY (array((SELECT locked.id
      FROM resource_providers AS locked
      WHERE locked.id IN (:ids …)
      ORDER BY locked.id = locked.root_provider_id DESC, locked.id FOR NO KEY UPDATE))) AND
          resource_providers.root_provider_id + 0 IN (:roots …);

-- without
UPDATE resource_providers
SET revision=CASE WHEN (resource_providers.id = resource_providers.root_provider_id) THEN
    :new_revision ELSE resource_providers.revision END
WHERE resource_providers.id = ANY (array((SELECT locked.id
      FROM resource_providers AS locked
      WHERE locked.id IN (:ids …)
      ORDER BY locked.id = locked.root_provider_id DESC, locked.id FOR NO KEY UPDATE))) AND
          resource_providers.root_provider_id + 0 IN (:roots …);

-- locks.revisions: Select (id, revision) of trees and lock the trees.
SELECT resource_providers.id, resource_providers.revision
FROM resource_providers
WHERE resource_providers.id IN (:ids …) FOR UPDATE;
