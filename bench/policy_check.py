"""What a policy check costs: `python -m bench.policy_check`.

Microseconds for a question that was asked within the last second, as on the hot path, and for
one that the library must answer.
"""

import timeit

from oslo_context.context import RequestContext

from placement import config
from placement.api.policy import Policy
from placement.api.routes import ROUTES

ROUNDS = 20_000
RULE = "placement:allocation_candidates:list"


def main() -> None:
    """Measure and print."""
    conf = config.options()
    config.parse(conf, [], [])
    policy = Policy(conf, [(each.rule, each.method, each.path) for each in ROUTES if each.rule])
    caller = _caller("nova")
    known = timeit.timeit(lambda: policy.allows(RULE, caller), number=ROUNDS) / ROUNDS
    new = (
        timeit.timeit(
            lambda: [policy.allows(RULE, _caller(str(number))) for number in range(500)],
            number=1,
        )
        / 500
    )
    print(f"asked before: {known * 1e6:.1f} us; new: {new * 1e6:.0f} us")


def _caller(user: str) -> RequestContext:
    return RequestContext(user_id=user, project_id="service", roles=["service"])


if __name__ == "__main__":
    main()
