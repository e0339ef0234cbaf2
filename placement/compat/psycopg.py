"""Unique names for the statements that psycopg prepares, which offers no way to choose them."""

from uuid import uuid4

from psycopg import Connection


def use_unique_names(connection: Connection) -> None:
    """Make the names of prepared statements different from the names on all other connections.

    The driver numbers the statements of each connection from 0. If a proxy lends the connections of
    the server to several clients, a number could mean the statement of another client.
    """
    connection._prepared._prepared_idx = uuid4().int
