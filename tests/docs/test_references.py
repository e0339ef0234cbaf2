"""The references are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from falcon_placement_client import public
from placement import errors
from placement.api.routes import GUARDED
from placement_docs import codes, contract, operations, worked_examples

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_operation_has_one_request_and_its_answer() -> None:
    steps = yaml.safe_load(operations.EXAMPLES.read_text())["requests"]
    names = [step["operation"] for step in steps if "operation" in step]
    assert sorted(names) == sorted(each.newest.operation for each in operations.operations())


def test_every_code_of_errors_says_what_to_do() -> None:
    assert codes.codes() == sorted(
        codes.WHAT_TO_DO, key=lambda code: (code == errors.UNDEFINED, code)
    )
    assert {kind.code for kind in codes.classes()} <= set(codes.WHAT_TO_DO)


def test_links_of_the_repository_name_files() -> None:
    links = {
        f"{document.name}: {target}"
        for document in ROOT.glob("*.rst")
        for target in files_linked(document.read_text())
        if not (ROOT / target).exists()
    }
    assert links == set()


def files_linked(text: str) -> Iterator[str]:
    """The targets of a document's links within this host."""
    for match in re.finditer(r"`[^`]*<(.+?)>`_|^\.\. _.+?: (\S+)$", text, re.MULTILINE):
        target = match[1] or match[2]
        if "://" not in target:
            yield target


def test_every_public_name_of_the_client_is_explained(built: Path) -> None:
    page = (built / "reference" / "python.html").read_text()
    shown = set(re.findall(r'id="falcon_placement_client\.([\w.]+)"', page))
    methods = {
        f"{kind.__name__}.{name}"
        for kind in (public.ReportClient, public.ProviderTree)
        for name in dir(kind)
        if not name.startswith("_")
    }
    assert {*public.__all__, *methods} - shown == set()


def test_further_names_than_in_nova_are_names_of_the_client() -> None:
    names = re.findall(r"``(client|tree)\.(\w+)``", (DOCS / "python.rst").read_text())
    kinds = {"client": public.ReportClient, "tree": public.ProviderTree}
    assert len(names) > 15
    assert [name for kind, name in names if not hasattr(kinds[kind], name)] == []


def test_examples_of_a_cloud_are_in_a_gabbit_that_asks_that_cloud() -> None:
    """A drawing next to examples is the drawing of their gabbit."""
    text = (DOCS / "modelling.rst").read_text()
    shown = re.findall(r"^\.\. (cloud|worked-example):: (\S+)", text, re.MULTILINE)
    drawn = ""
    for kind, name in shown:
        if kind == "cloud":
            drawn = name
            continue
        gabbit = yaml.load((ROOT / "gabbits" / f"{name}.yaml").read_text(), yaml.BaseLoader)
        (fixture,) = gabbit["fixtures"]
        assert fixture == worked_examples.fixture_of(Path(drawn)), name


def test_an_example_is_the_request_of_the_gabbit_and_its_candidates(tmp_path: Path) -> None:
    gabbit = tmp_path / "gabbit.yaml"
    gabbit.write_text(
        "defaults: {request_headers: {openstack-api-version: placement 2.0}}\n"
        "tests:\n"
        "- a case: GET /allocation_candidates\n"
        "  query_parameters: {resources: 'VCPU:1', required: '!CUSTOM_A'}\n"
        "  answer: 200\n"
        "  response_candidates: ['cn{VCPU:1} + ss{DISK_GB:2} | _A=cn']\n"
    )
    asked = worked_examples.example(gabbit, "a case")
    assert asked.version == "2.0"
    assert asked.request == "GET /allocation_candidates?resources=VCPU:1&required=!CUSTOM_A"
    page = worked_examples.shown(asked)
    assert "**cn** VCPU 1 + **ss** DISK_GB 2" in page
    assert "``_A``: cn" in page


# -- the contract -----------------------------------------------------------------------------


def is_valid(schema: Any, value: Any) -> bool:
    """Whether the document's schema allows a value."""
    whole = {**schema, "components": contract.served()["components"]}
    return jsonschema.Draft202012Validator(whole).is_valid(value)


def test_each_example_is_a_request_and_an_answer_of_the_contract() -> None:
    exchanges = operations.exchanges()
    for methods in contract.served()["paths"].values():
        for operation in methods.values():
            exchange = exchanges[operation["operationId"]]
            assert ("requestBody" in operation) == (exchange.body is not None), exchange.request
            response = operation["responses"][str(exchange.status)]
            assert ("content" in response) == (exchange.content is not None), exchange.request
            for part, value in [
                (operation.get("requestBody", {}), exchange.body),
                (response, exchange.content),
            ]:
                for content in part.get("content", {}).values():
                    assert is_valid(content["schema"], value), (exchange.request, value)
                    assert is_valid(content["schema"], content["example"]), exchange.request


def test_the_contract_has_each_operation_schema_rule_and_code(built: Path) -> None:
    reference = built / "reference"
    files = [reference / "contract.html", reference / "schemas.html", *reference.glob("api/*.html")]
    pages = "".join(file.read_text() for file in files)
    identifiers = re.findall(r'id="((?:operation|schema)-[^"]+)"', pages)
    schemas = contract.served()["components"]["schemas"].keys() - {contract.MICROVERSION}
    assert sorted(identifiers) == sorted(
        [each.label for each in operations.operations()]
        + [f"schema-{name.lower()}" for name in schemas]
    )
    shown = set(re.findall(r'<span class="pre">([^<]+)</span>', pages))
    assert {rule for rule, _method, path in GUARDED if path != "/metrics"} <= shown
    assert set(codes.codes()) <= shown
