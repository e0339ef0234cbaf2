"""The service without a check of policy, for `bench.watching`: a WSGI entry."""

from placement.api.policy import Policy

Policy.allows = lambda *_: True  # type: ignore[method-assign]

from placement.wsgi.api import application  # noqa: E402, F401
