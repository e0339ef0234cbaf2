"""`/provider_trees`."""

from functools import partial

from placement.api import commands, query
from placement.api.handler import NOW, Call, Reply
from placement.objects import provider_trees

# Kind of names -> the policy rule that a caller needs to create them.
CREATION_RULES = {
    "resource_class": "placement:resource_classes:update",
    "trait": "placement:traits:update",
}


def show_provider_tree(call: Call) -> Reply:
    """Show a tree of resource providers with their inventories, traits and aggregates.

    The response has the form of the request that replaces the tree.
    """
    query.refuse_parameters(call.query_string, call.version)
    with call.service.database.read_trees() as conn:
        tree = provider_trees.get(conn, call.path["root"])
    return Reply(200, tree, changed_at=NOW)


def replace_provider_tree(call: Call) -> Reply:
    """Change a tree of resource providers to match the body, in one transaction.

    The body replaces the parts of a provider that it contains, and does not change the other parts.
    Instead of all traits or aggregates, it can contain single ones to add and to remove. With
    `prune`, providers of the tree that are not listed are deleted. With `create_names`, custom
    resource classes and traits that do not exist are created first. Only differences are written.
    """
    command = commands.provider_tree(call.path["root"], call.body)
    outcome = call.service.database.write(
        partial(
            provider_trees.put,
            command=command,
            may_create=lambda kind: call.rights.require(CREATION_RULES[kind]),
        )
    )
    return Reply(200, outcome, changed_at=NOW)
