"""Rules, their defaults, and what an operator can change about them."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
from oslo_context.context import RequestContext

from placement import config
from placement.api.policy import REFRESH, Policy
from placement.api.routes import GUARDED, ROUTES
from placement.entry import generators
from placement.errors import ConfigurationError
from tests.kit.builders import make_app, settings
from tests.kit.service import Client

ADMIN_OR_SERVICE = "rule:admin_or_service_api"

# Base rule -> (check string, what else is allowed with enforce_new_defaults = False).
BASE = {
    "admin_api": ("role:admin", None),
    "service_api": ("role:service", "role:admin"),
    "admin_or_service_api": ("role:admin or role:service", "role:admin"),
    "project_reader_api": ("role:reader and project_id:%(project_id)s", "role:admin"),
    "admin_or_project_reader_or_service_api": (
        "role:admin or rule:project_reader_api or role:service",
        "role:admin",
    ),
}

# Method and path -> rule without its prefix.
RULES = {
    ("GET", "/resource_providers"): "resource_providers:list",
    ("POST", "/resource_providers"): "resource_providers:create",
    ("GET", "/resource_providers/{uuid}"): "resource_providers:show",
    ("PUT", "/resource_providers/{uuid}"): "resource_providers:update",
    ("DELETE", "/resource_providers/{uuid}"): "resource_providers:delete",
    ("GET", "/resource_classes"): "resource_classes:list",
    ("POST", "/resource_classes"): "resource_classes:create",
    ("GET", "/resource_classes/{name}"): "resource_classes:show",
    ("PUT", "/resource_classes/{name}"): "resource_classes:update",
    ("DELETE", "/resource_classes/{name}"): "resource_classes:delete",
    ("GET", "/resource_providers/{uuid}/inventories"): "resource_providers:inventories:list",
    ("POST", "/resource_providers/{uuid}/inventories"): "resource_providers:inventories:create",
    ("PUT", "/resource_providers/{uuid}/inventories"): "resource_providers:inventories:update",
    ("DELETE", "/resource_providers/{uuid}/inventories"): "resource_providers:inventories:delete",
    ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"): (
        "resource_providers:inventories:show"
    ),
    ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"): (
        "resource_providers:inventories:update"
    ),
    ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"): (
        "resource_providers:inventories:delete"
    ),
    ("GET", "/resource_providers/{uuid}/aggregates"): "resource_providers:aggregates:list",
    ("PUT", "/resource_providers/{uuid}/aggregates"): "resource_providers:aggregates:update",
    ("GET", "/resource_providers/{uuid}/usages"): "resource_providers:usages",
    ("GET", "/resource_providers/{uuid}/rollup"): "resource_providers:usages",
    ("GET", "/usages"): "usages",
    ("GET", "/traits"): "traits:list",
    ("GET", "/traits/{name}"): "traits:show",
    ("PUT", "/traits/{name}"): "traits:update",
    ("DELETE", "/traits/{name}"): "traits:delete",
    ("GET", "/resource_providers/{uuid}/traits"): "resource_providers:traits:list",
    ("PUT", "/resource_providers/{uuid}/traits"): "resource_providers:traits:update",
    ("DELETE", "/resource_providers/{uuid}/traits"): "resource_providers:traits:delete",
    ("POST", "/allocations"): "allocations:manage",
    ("GET", "/allocations"): "allocations:list",
    ("GET", "/allocations/{consumer}"): "allocations:list",
    ("PUT", "/allocations/{consumer}"): "allocations:update",
    ("DELETE", "/allocations/{consumer}"): "allocations:delete",
    ("GET", "/resource_providers/{uuid}/allocations"): "resource_providers:allocations:list",
    ("GET", "/allocation_candidates"): "allocation_candidates:list",
    ("POST", "/allocation_candidates"): "allocation_candidates:list",
    ("POST", "/claims"): "claims:create",
    ("GET", "/changes"): "changes:list",
    ("POST", "/headroom"): "headroom",
    ("GET", "/provider_trees/{root}"): "provider_trees:show",
    ("PUT", "/provider_trees/{root}"): "provider_trees:update",
    ("POST", "/simulations"): "simulations:create",
    ("GET", "/consumers"): "consumers:list",
    ("GET", "/consumers/{consumer}"): "consumers:show",
    ("PUT", "/consumers/{consumer}/request"): "consumers:remember",
    ("PUT", "/consumers/{consumer}/spread_group"): "consumers:join",
    ("PUT", "/holds/{consumer}"): "holds:update",
    ("DELETE", "/holds/{consumer}"): "holds:delete",
    ("POST", "/reshaper"): "reshaper:reshape",
}
# Further rules that some requests of an operation need.
MORE_RULES = {"allocation_candidates:explain", "metrics"}
DEFAULTS = {
    "placement:usages": "rule:admin_or_project_reader_or_service_api",
    "placement:reshaper:reshape": "rule:service_api",
}


def policy(tmp_path: Path, text: str | None = None, **options: Any) -> Policy:
    path = tmp_path / "policy.yaml"
    if text is not None:
        path.write_text(text)
    conf = settings("sqlite://", oslo_policy={"policy_file": str(path), **options}).conf
    return Policy(conf, GUARDED)


def let_time_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic() + REFRESH
    monkeypatch.setattr(time, "monotonic", lambda: now)


def caller(*roles: str, **values: Any) -> RequestContext:
    credentials = {"user_id": "u", "project_id": "p", **values}
    return RequestContext(roles=list(roles), overwrite=False, **credentials)


def test_every_operation_has_its_rule() -> None:
    declared = {(route.method, route.path): route.rule for route in ROUTES if not route.public}
    assert declared == {operation: f"placement:{rule}" for operation, rule in RULES.items()}


def test_each_rule_of_an_operation_has_a_description() -> None:
    documented = [rule for rule in generators.rules() if rule.name.startswith("placement:")]
    assert len(documented) == len({rule for rule, _method, _path in GUARDED})
    assert [rule.name for rule in documented if not str(rule.description).endswith(".")] == []


def test_rules_have_the_defaults_and_scope_that_operators_know(tmp_path: Path) -> None:
    rules = policy(tmp_path).rules()
    for name, (check, deprecated) in BASE.items():
        assert rules[name].check_str == check, name
        deprecated_rule = rules[name].deprecated_rule
        assert (deprecated_rule.check_str if deprecated_rule else None) == deprecated
    for rule in (*RULES.values(), *MORE_RULES):
        name = f"placement:{rule}"
        assert rules[name].check_str == DEFAULTS.get(name, ADMIN_OR_SERVICE)
    assert all(rule.scope_types == ["project"] for rule in rules.values())
    assert rules.keys() == BASE.keys() | {
        f"placement:{rule}" for rule in (*RULES.values(), *MORE_RULES)
    }


def test_a_reader_sees_the_usage_of_its_own_project_only(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    for project, allowed in (("p", True), ("other", False), (None, False)):
        target = {"project_id": project}
        assert rules.allows("placement:usages", caller("reader"), target) is allowed


@pytest.mark.parametrize("scope", [{"system_scope": "all"}, {"domain_id": "d"}])
def test_only_callers_with_a_project_are_allowed_anything(
    tmp_path: Path, scope: dict[str, str]
) -> None:
    rules = policy(tmp_path, '"placement:traits:show": "@"\n')
    outsider = caller("admin", "service", project_id=None, **scope)
    for rule in ("placement:traits:list", "placement:traits:show"):
        assert not rules.allows(rule, outsider)
        assert rules.remedy(rule, outsider) == "it needs a token whose scope is a project"


def test_former_defaults_hold_when_the_new_ones_are_not_enforced(tmp_path: Path) -> None:
    lenient = policy(tmp_path, enforce_new_defaults=False)
    assert lenient.allows("placement:reshaper:reshape", caller("admin"))
    assert not lenient.allows("placement:reshaper:reshape", caller("member"))


@pytest.mark.parametrize(
    ("check", "allowed"),
    [
        ("@", True),
        ("!", False),
        ("role:auditor", True),
        ("rule:admin_api or role:auditor", True),
        ("role:auditor and not user_id:u", False),
        ("(role:auditor or role:x) and project_id:%(project_id)s", True),
        ("user_id:%(user_id)s and not role:admin", True),
    ],
)
def test_an_operator_may_override_a_rule(tmp_path: Path, check: str, allowed: bool) -> None:
    rules = policy(tmp_path, f'"placement:traits:list": "{check}"\n')
    assert rules.allows("placement:traits:list", caller("auditor")) is allowed
    assert not rules.allows("placement:traits:show", caller("auditor"))


IDS = ("user_id", "user_domain_id", "project_id", "project_domain_id")
PROJECT_VALUES: dict[str, Any] = {"is_admin_project": False, "roles": ["x"], "service_roles": ["x"]}
PROJECT_VALUES |= dict.fromkeys([*IDS, *(f"service_{name}" for name in IDS)], "x")


@pytest.mark.parametrize("name", PROJECT_VALUES)
def test_a_rule_may_look_at_every_credential(tmp_path: Path, name: str) -> None:
    value = PROJECT_VALUES[name]
    check = f"{name}:{value[0] if isinstance(value, list) else value}"
    rules = policy(
        tmp_path, f'"placement:traits:list": "{check}"\n"placement:traits:show": "not {check}"\n'
    )
    plain = caller()
    special = caller()
    setattr(special, name, value)
    # The requests alternate between callers, so reusing a result of another caller would fail.
    for who, has_it in ((plain, False), (special, True), (plain, False)):
        assert rules.allows("placement:traits:list", who) is has_it
        assert rules.allows("placement:traits:show", who) is not has_it


@pytest.mark.parametrize(
    ("check", "roles", "lacking"),
    [
        ("role:auditor", [], "it needs the role auditor"),
        ("role:b or role:a or role:b", [], "it needs the role b or a"),
        ("rule:admin_or_service_api", ["reader"], "it needs the role admin or service"),
        ("role:a and role:b", ["a"], "it needs the role b"),
        ("role:a and role:b", [], ""),
        ("role:a and not role:b", [], "it needs the role a"),
        ("role:a and not role:b", ["b"], ""),
        ("role:a or (role:b and project_id:other)", [], "it needs the role a"),
        ("user_id:other", [], ""),
        ("!", [], ""),
    ],
)
def test_a_refusal_names_the_roles_that_would_do(
    tmp_path: Path, check: str, roles: list[str], lacking: str
) -> None:
    rules = policy(tmp_path, f'"placement:traits:list": "{check}"\n')
    who = caller(*roles)
    assert not rules.allows("placement:traits:list", who)
    assert rules.remedy("placement:traits:list", who) == lacking


@pytest.mark.parametrize(
    ("project", "lacking"),
    [
        ("p", "it needs the role admin or reader or service"),
        ("q", "it needs the role admin or service"),
    ],
)
def test_a_refusal_names_a_role_only_where_it_would_do(
    tmp_path: Path, project: str, lacking: str
) -> None:
    rules = policy(tmp_path)
    assert rules.remedy("placement:usages", caller(), {"project_id": project}) == lacking


def test_a_changed_file_is_picked_up_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = policy(tmp_path, '"placement:traits:list": "role:auditor"\n')
    assert rules.allows("placement:traits:list", caller("auditor"))
    path = tmp_path / "policy.yaml"
    path.write_text('"placement:traits:list": "role:nobody"\n')
    os.utime(path, (1, 2_000_000_000))
    let_time_pass(monkeypatch)
    assert not rules.allows("placement:traits:list", caller("auditor"))


INVALID = {
    "no end": '"placement:traits:list": "role:',
    "a list": "- no\n- mapping\n",
    "a number as name": '5: "role:admin"\n',
    "no name": '~: "role:admin"\n',
    "a name that is true": 'on: "role:admin"\n',
    "a number as check": '"placement:traits:list": 5\n',
    "nested too deeply": "[" * 5000,
}


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_an_invalid_file_is_refused_at_the_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"policy\.yaml: ."):
        policy(tmp_path, text)


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_a_file_that_is_broken_later_leaves_the_rules_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    rules = policy(tmp_path, '"placement:traits:list": "role:auditor"\n')
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    os.utime(path, (1, 2_000_000_000))
    for _ in range(2):
        let_time_pass(monkeypatch)
        assert rules.allows("placement:traits:list", caller("auditor"))
        assert not rules.allows("placement:traits:list", caller("admin"))
    assert "policy.yaml: " in caplog.text
    assert caplog.text.count("the previous rules stay in force") == 1
    assert "Traceback" not in caplog.text
    path.write_text('"placement:traits:list": "role:other"\n')
    let_time_pass(monkeypatch)
    assert rules.allows("placement:traits:list", caller("other"))


@pytest.mark.parametrize("check", ["rule:a", "rule:placement:traits:list", ":", "project_id:%d"])
def test_a_rule_that_cannot_be_evaluated_is_false(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, check: str
) -> None:
    rules = policy(tmp_path, f'"placement:traits:list": "{check}"\n"a": "not rule:a"\n')
    assert not rules.allows("placement:traits:list", caller("admin"))
    assert "policy rule placement:traits:list cannot be evaluated: " in caplog.text
    assert rules.allows("placement:traits:show", caller("admin"))
    assert rules.refusal("placement:traits:list", caller("admin"))


def test_all_rules_stay_if_one_of_two_changed_files_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "policy.d"
    directory.mkdir()
    further = directory / "further.yaml"
    further.write_text('"placement:traits:show": "role:auditor"\n')
    rules = policy(tmp_path, '"placement:traits:list": "role:x"\n', policy_dirs=[str(directory)])
    (tmp_path / "policy.yaml").write_text('"placement:traits:list": "role:y"\n')
    further.write_text("- no mapping\n")
    for path in (tmp_path / "policy.yaml", further):
        os.utime(path, (1, 2_000_000_000))
    for _ in range(3):
        let_time_pass(monkeypatch)
        assert rules.allows("placement:traits:list", caller("x"))
        assert rules.allows("placement:traits:show", caller("auditor"))
        assert not rules.allows("placement:traits:show", caller("admin"))
        assert rules.allows("placement:traits:update", caller("admin"))
    further.write_text('"placement:traits:show": "role:other"\n')
    let_time_pass(monkeypatch)
    assert rules.allows("placement:traits:list", caller("y"))
    assert rules.allows("placement:traits:show", caller("other"))


def test_the_file_is_found_next_to_placement_conf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "placement.conf").write_text("[placement_database]\nconnection = sqlite://\n")
    (tmp_path / "policy.yaml").write_text('"placement:traits:list": "role:auditor"\n')
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, str(tmp_path))
    conf = config.options()
    config.load_for_service(conf)
    rules = Policy(conf, [("placement:traits:list", "GET", "/traits")])
    assert rules.allows("placement:traits:list", caller("auditor"))


def test_the_log_names_the_files_in_force_at_the_start_and_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    policy(tmp_path)
    assert "policy: all rules have their defaults; there is no file" in caplog.text
    caplog.clear()
    rules = policy(tmp_path, '"placement:traits:list": "role:auditor"\n')
    in_force = f"policy: rules of {tmp_path}/policy.yaml override the defaults"
    assert [record.getMessage() for record in caplog.records] == [in_force]
    path = tmp_path / "policy.yaml"
    path.write_text('"placement:traits:list": "role:other"\n')
    os.utime(path, (1, 2_000_000_000))
    for _ in range(2):
        let_time_pass(monkeypatch)
        assert rules.allows("placement:traits:list", caller("other"))
    assert [record.getMessage() for record in caplog.records] == [in_force, in_force]


def test_the_service_finds_its_policy_file_and_names_the_rule_it_refuses(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text('"placement:traits:list": "role:auditor"\n')
    client = Client(make_app(tmp_path, oslo_policy={"policy_file": str(path)}))
    statuses = {}
    for role in ("auditor", "admin"):
        answer = client.send("GET", "/traits", headers={"X-Auth-Token": "u:p", "X-Roles": role})
        statuses[role] = answer.status_code
    assert statuses == {"auditor": 200, "admin": 403}
    assert answer.json["errors"][0]["detail"] == (
        "Policy does not allow placement:traits:list to be performed: it needs the role auditor"
    )


def test_each_part_that_is_included_needs_its_own_rule(tmp_path: Path) -> None:
    """The response contains the text of the rule, and precedes the check of the query."""
    path = tmp_path / "policy.yaml"
    allowed = ("list", "show", "usages", "traits:list")
    rules = [f'"placement:resource_providers:{rule}": "role:watcher"\n' for rule in allowed]
    path.write_text("".join(rules))
    service = Client(make_app(tmp_path, oslo_policy={"policy_file": str(path)}))
    uuid = "00000000-0000-0000-0000-000000000001"
    service.expect(200, "POST", "/resource_providers", {"name": "cn", "uuid": uuid})
    watcher = {"X-Auth-Token": "user:own", "X-Roles": "watcher"}
    for target in ("/resource_providers", f"/resource_providers/{uuid}"):
        for query, refused in (
            ("", None),
            ("?include=usages,traits", None),
            ("?include=inventories", "inventories:list"),
            ("?include=usages&include=traits,aggregates", "aggregates:list"),
            ("?include=x,allocations&colour=red", "allocations:list"),
        ):
            answer = service.send("GET", f"{target}{query}", version="2.0", headers=watcher)
            assert answer.status_code == (403 if refused else 200), answer.text
            assert refused is None or f"placement:resource_providers:{refused} " in answer.text
        older = service.send("GET", f"{target}?include=inventories", headers=watcher)
        assert older.status_code == (200 if uuid in target else 400)


def test_a_rule_precedes_the_check_of_the_path(tmp_path: Path) -> None:
    service = Client(make_app(tmp_path))
    for roles, status in (("admin", 400), ("reader", 403)):
        headers = {"X-Auth-Token": "user:own", "X-Roles": roles}
        answer = service.send("GET", "/traits/%F0%9F%98%80", headers=headers)
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize("name", sorted(RequestContext(overwrite=False).to_policy_values()))
def test_an_answer_is_cached_for_exactly_one_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rules = policy(tmp_path)
    asked: list[Any] = []

    def authorize(_rule: str, _target: object, credentials: dict[str, Any]) -> bool:
        asked.append(credentials[name])
        return True

    monkeypatch.setattr(rules._enforcer, "authorize", authorize)
    one: Any = ["a"] if name.endswith("roles") else "a"
    other: Any = ["a", "b"] if name.endswith("roles") else "b"
    for value in (one, one, other, other):
        context = RequestContext(overwrite=False, **{name: value})
        assert rules.allows("placement:traits:list", context)
    assert asked == [one, other]


def test_an_answer_is_kept_for_one_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = policy(tmp_path)
    asked: list[Any] = []

    def authorize(_rule: str, target: object, _credentials: object) -> bool:
        asked.append(target)
        return True

    monkeypatch.setattr(rules._enforcer, "authorize", authorize)
    for target in (None, {"project_id": "x"}, {"project_id": "x"}, {"project_id": "y"}, None):
        assert rules.allows("placement:usages", caller("reader"), target)
    assert asked == [{"project_id": "p", "user_id": "u"}, {"project_id": "x"}, {"project_id": "y"}]


@pytest.mark.parametrize(
    ("rule", "consistent"),
    [
        ("role:a", True),
        ("http://127.0.0.1:9/rule", True),
        ("rule:admin_api", True),
        ("role:a or rule:xyz", False),
        ("rule:placement:traits:list", False),
    ],
)
def test_a_reference_to_an_undefined_rule_or_to_itself_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rule: str, consistent: bool
) -> None:
    rules = policy(tmp_path, f'"placement:traits:list": "{rule}"\n')
    warnings = [text for text in caplog.messages if "'placement:traits:list'" in text]
    assert (warnings == []) is consistent
    assert rules.is_consistent() is consistent


@pytest.mark.parametrize(
    ("rule", "asked"),
    [("role:auditor", 1), ("role:auditor or not http://127.0.0.1:9/rule", 2)],
    ids=["rules that stand", "a rule that asks another service"],
)
def test_answers_outlive_a_look_at_the_files_unless_another_service_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, asked: int
) -> None:
    rules = policy(tmp_path, f'"placement:traits:list": "{rule}"\n')
    questions: list[str] = []

    def authorize(name: str, _target: object, credentials: Any) -> bool:
        questions.append(name)
        return "auditor" in credentials["roles"]

    monkeypatch.setattr(rules._enforcer, "authorize", authorize)
    assert rules.allows("placement:traits:list", caller("auditor"))
    let_time_pass(monkeypatch)
    assert rules.allows("placement:traits:list", caller("auditor"))
    assert len(questions) == asked
    # A refusal asks what another role would do, except another service.
    refusal = str(rules.refusal("placement:traits:list", caller()))
    assert (len(questions), "needs the role auditor" in refusal) == (3, asked == 1)
