"""Candidate requests as arguments of commands."""

import argparse
import re
from typing import Any, cast

from openstack.exceptions import SDKException
from osc_lib import exceptions

from falcon_placement_client import flavors
from falcon_placement_client.commands.over_rest import Call
from falcon_placement_client.json_request import AnyRequest
from falcon_placement_client.listing import find_provider
from falcon_placement_client.osc.base import read_file
from falcon_placement_client.query import parse_query
from falcon_placement_client.rest import RestApi
from falcon_placement_client.terms import is_uuid

_CONDITIONS = ("required", "forbidden", "member_of")  # parameters of the group without a suffix


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a request to a parser."""
    whole = parser.add_mutually_exclusive_group()
    whole.add_argument("--flavor", metavar="NAME|ID", help="a flavor of nova, with its properties")
    whole.add_argument(
        "--query",
        metavar="QUERY",
        help="a query of GET /allocation_candidates, such as 'resources=VCPU:4'",
    )
    whole.add_argument(
        "--request", metavar="FILE", help="JSON or YAML: a body of POST /allocation_candidates"
    )
    group = parser.add_argument_group("conditions of the unsuffixed group")
    group.add_argument(
        "--resource",
        action="append",
        metavar="CLASS=AMOUNT",
        help="requested amount; may be repeated",
    )
    group.add_argument(
        "--required", action="append", metavar="TRAIT", help="required trait; may be repeated"
    )
    group.add_argument(
        "--forbidden", action="append", metavar="TRAIT", help="forbidden trait; may be repeated"
    )
    group.add_argument(
        "--member-of",
        action="append",
        metavar="AGGREGATE",
        help="UUID of an aggregate of the providers; may be repeated",
    )
    group.add_argument(
        "--in-tree",
        metavar="PROVIDER",
        help="only providers in the tree of this provider (name or UUID)",
    )


def read_request(call: Call) -> AnyRequest:
    """Return the request in the arguments. Flavors are read from the compute service.

    Raises:
        CommandError: an argument cannot be used.
        RequestError: the flavor or the query is malformed.
        RestError: there is no such provider.
    """
    request: dict[str, Any] = _whole(call.options, call.manager)
    group = _group(call.options, call.api)
    if group:
        if "first_available" in request:
            raise exceptions.CommandError("the file has several requests, which take no conditions")
        groups = request.setdefault("groups", {})
        groups[""] = _merged(dict(groups.get("", {})), group)
    if not request:
        raise exceptions.CommandError("state a request: --resource, --flavor, --query or --request")
    return cast("AnyRequest", request)


def _whole(options: argparse.Namespace, manager: Any) -> dict[str, Any]:
    if options.flavor is not None:
        return dict(flavors.request_of_flavor(read_flavor(manager, options.flavor)))
    if options.query is not None:
        return dict(parse_query(options.query))
    return {} if options.request is None else _read_file(options.request)


def _group(options: argparse.Namespace, api: RestApi) -> dict[str, Any]:
    """Return the conditions on the group without a suffix."""
    group: dict[str, Any] = {
        name: getattr(options, name) for name in _CONDITIONS if getattr(options, name)
    }
    if options.resource:
        group["resources"] = dict(map(_amount, options.resource))
    if options.in_tree is not None:
        group["in_tree"] = find_provider(api, options.in_tree)["uuid"]
    return group


def _merged(group: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    for name, value in added.items():
        if isinstance(value, list):
            group[name] = [*group.get(name, []), *value]
        elif isinstance(value, dict):
            group[name] = {**group.get(name, {}), **value}
        else:
            group[name] = value
    return group


def _amount(text: str) -> tuple[str, int]:
    name, equals, amount = text.partition("=")
    if not (name and equals and amount.isascii() and amount.isdigit()):
        raise exceptions.CommandError(f"--resource {text}: expected CLASS=AMOUNT, such as VCPU=4")
    return name, int(amount)


def _read_file(path: str) -> dict[str, Any]:
    request = read_file(path)
    if not isinstance(request, dict):
        raise exceptions.CommandError(f"{path}: expected an object with the request")
    return request


def read_flavor(manager: Any, name: str) -> flavors.Flavor:
    """Return a flavor of nova, by name or id.  Raises CommandError."""
    compute = compute_of(manager)
    if compute is None:
        raise exceptions.CommandError(f"flavor {name}: the cloud has no compute endpoint")
    try:
        flavor = compute.find_flavor(name, get_extra_specs=True)
    except SDKException as error:
        raise exceptions.CommandError(f"flavor {name}: {' '.join(str(error).split())}") from None
    if flavor is None:
        raise exceptions.CommandError(f"flavor {name}: there is no such flavor")
    amounts = {name: getattr(flavor, name) or 0 for name in flavors.OWN_AMOUNTS}
    return {**amounts, **(flavor.extra_specs or {})}


def compute_of(manager: Any) -> Any:
    """Return the proxy of the compute service, or None if the cloud has none."""
    if not manager.is_compute_endpoint_enabled():
        return None
    compute = manager.sdk_connection.compute
    # With one endpoint for all services (admin_token), openstacksdk returns a proxy without
    # resources if the endpoint does not support an API of compute.
    return compute if hasattr(compute, "find_flavor") else None


def consumer_uuid(manager: Any, text: str) -> str:
    """Return the UUID of a consumer.

    Args:
        text: the UUID, or the name of a server of any project that the caller can see.

    Raises:
        CommandError: there is no such server, or no compute service.
    """
    if is_uuid(text):
        return text
    compute = compute_of(manager)
    if compute is None:
        raise exceptions.CommandError(
            f"{text}: expected a UUID, because the cloud has no compute endpoint"
        )
    try:
        # nova treats the name as a regular expression.
        servers = [*compute.servers(details=False, name=f"^{re.escape(text)}$")]
    except SDKException as error:
        raise exceptions.CommandError(f"server {text}: {' '.join(str(error).split())}") from None
    found = [server.id for server in servers if server.name == text]
    if len(found) != 1:
        problem = f"{len(found)} servers have this name" if found else "there is no such server"
        raise exceptions.CommandError(f"server {text}: {problem}")
    return str(found[0])
