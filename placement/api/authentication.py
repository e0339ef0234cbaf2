"""Who calls (contract README section 4): one of these sets `req.context.identity`."""

from collections.abc import Collection

import falcon
from oslo_context.context import RequestContext

from placement.api.policy import Identity
from placement.api.problems import Refusal


class NoAuth:
    """`noauth2`: a token is taken at its word."""

    def __init__(self, public: Collection[str]) -> None:
        self._public = public

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Read the token; without one only public paths are open."""
        token = req.get_header("X-Auth-Token")
        if token is None:
            if req.env["PATH_INFO"] in self._public:
                return
            raise Refusal(401, "Authentication required: send a token in X-Auth-Token")
        user, _colon, project = token.partition(":")
        stated = req.get_header("X-Roles")
        if stated is None:
            stated = "admin" if user == "admin" else ""
        roles = tuple(filter(None, (role.strip() for role in stated.split(","))))
        scoped_to_system = req.get_header("OpenStack-System-Scope") is not None
        req.context.identity = Identity(
            user, None if scoped_to_system else project or user, roles, not scoped_to_system
        )


class Keystone:
    """`keystone`: the identity service has validated the token (`outer.Authenticated`)."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Read what it says of the caller."""
        about = RequestContext.from_environ(req.env)
        to_project = about.system_scope is None and about.project_id is not None
        req.context.identity = Identity(
            about.user_id or "", about.project_id, tuple(about.roles), to_project
        )
