"""The manifests: valid, consistent with each other and with the image, and their pods run."""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from keystoneauth1 import loading
from keystonemiddleware.auth_token import list_opts

from tests.deploy import containerfile, kubernetes_schema
from tests.deploy.containerfile import Image
from tests.deploy.machine import Machine
from tests.deploy.serving import await_answer
from tests.kit.ports import free_port
from tests.kit.processes import REPOSITORY, START

DIRECTORY = REPOSITORY / "etc/deploy/kubernetes"
KUSTOMIZATION = "kustomization.yaml"
MANIFESTS = {
    path.name: yaml.safe_load(path.read_text())
    for path in sorted(DIRECTORY.glob("*.yaml"))
    if path.name != KUSTOMIZATION
}
PODS = ["deployment.yaml", "migration-job.yaml"]


# -- the form -------------------------------------------------------------------------------


SCHEMA = json.loads(kubernetes_schema.FILE.read_text())


def faults_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts that violate the schema of Kubernetes, by path."""
    definition = kubernetes_schema.KINDS[manifest["kind"]]
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{definition}"})
    return {each.json_path: each.message for each in validator.iter_errors(manifest)}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_has_the_form_of_its_kind(name: str) -> None:
    assert faults_of(MANIFESTS[name]) == {}


# -- in accord ------------------------------------------------------------------------------


def pod(name: str) -> dict[str, Any]:
    return dict(MANIFESTS[name]["spec"]["template"])


def container(name: str) -> dict[str, Any]:
    (only,) = pod(name)["spec"]["containers"]
    return dict(only)


def test_the_kustomization_has_all_but_what_is_made_or_run_apart() -> None:
    listed = yaml.safe_load((DIRECTORY / KUSTOMIZATION).read_text())["resources"]
    assert set(listed) == MANIFESTS.keys() - {"secret.example.yaml", "migration-job.yaml"}


def test_ports_and_references_have_names_that_are_there() -> None:
    ports = {each["name"]: each["containerPort"] for each in container("deployment.yaml")["ports"]}
    named = [each["targetPort"] for each in MANIFESTS["service.yaml"]["spec"]["ports"]]
    for rule in MANIFESTS["networkpolicy.yaml"]["spec"]["ingress"]:
        named += [each["port"] for each in rule["ports"]]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        named.append(container("deployment.yaml")[probe]["httpGet"]["port"])
    assert set(named) == ports.keys()
    annotations = pod("deployment.yaml")["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["metrics"])
    configuration = MANIFESTS["configmap.yaml"]["data"]["placement.conf"]
    assert f"bind_port = {ports['metrics']}\n" in configuration
    for name in PODS:
        assert container(name)["envFrom"] == [
            {"secretRef": {"name": MANIFESTS["secret.example.yaml"]["metadata"]["name"]}}
        ]
        volumes = {each["name"]: each for each in pod(name)["spec"]["volumes"]}
        assert {each["name"] for each in container(name)["volumeMounts"]} == volumes.keys()
        assert volumes["configuration"]["configMap"] == {
            "name": MANIFESTS["configmap.yaml"]["metadata"]["name"]
        }


@pytest.mark.parametrize("name", PODS)
def test_pods_have_no_rights_and_write_to_tmp_alone(name: str) -> None:
    user = int(
        dict(containerfile.instructions(containerfile.FILE.read_text()))["USER"].split(":")[0]
    )
    spec, only = pod(name)["spec"], container(name)
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": user,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [each["mountPath"] for each in only["volumeMounts"] if not each.get("readOnly")]
    assert writable == ["/tmp"]


def test_what_is_configured_are_options(tmp_path: Path) -> None:
    text = MANIFESTS["configmap.yaml"]["data"]["placement.conf"]
    for name in MANIFESTS["secret.example.yaml"]["stringData"]:
        group, option = name.removeprefix("OS_").lower().split("__")
        head, found, rest = text.partition(f"[{group}]\n")
        text = (
            f"{head}{found}{option} = x\n{rest}" if found else f"{text}\n[{group}]\n{option} = x\n"
        )
    (tmp_path / "placement.conf").write_text(text)
    generator = (REPOSITORY / "etc/placement/config-generator.conf").read_text()
    namespaces = re.findall(r"^namespace = (.+)$", generator, re.MULTILINE)
    command = [f"{Path(sys.executable).parent}/oslo-config-validator", "--input-file"]
    command.append(str(tmp_path / "placement.conf"))
    for namespace in namespaces:
        command += ["--namespace", namespace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # The validator does not know which options the method of authentication has.
    parser = configparser.ConfigParser()
    parser.read_string(text)
    known = {
        each.dest for each in loading.get_plugin_options(parser["keystone_authtoken"]["auth_type"])
    }
    for _group, options in list_opts():
        known |= {each.dest for each in options}
    assert set(parser["keystone_authtoken"]) <= known


# -- run ------------------------------------------------------------------------------------


def test_the_job_migrates_and_the_pod_answers_its_probes_and_a_scrape(
    image: Image, installed: Machine, tmp_path: Path
) -> None:
    installed.put(
        "/etc/placement/placement.conf", MANIFESTS["configmap.yaml"]["data"]["placement.conf"]
    )
    installed.room("/var/lib/placement")  # in the place of a database server
    installed.seal()
    secrets = {
        **MANIFESTS["secret.example.yaml"]["stringData"],
        "OS_PLACEMENT_DATABASE__CONNECTION": "sqlite:////var/lib/placement/placement.db",
    }
    job, only = container("migration-job.yaml"), container("deployment.yaml")
    installed.run(job["command"], {**image.environment, **secrets})

    port, metrics = free_port(), free_port()
    environment = {**image.environment, **secrets, "OS_METRICS__BIND_PORT": str(metrics)}
    ports = {"0.0.0.0:8778": f"127.0.0.1:{port}", "0.0.0.0:9178": f"127.0.0.1:{metrics}"}
    assert only["args"][: len(image.command)] == image.command
    command = [ports.get(each, each) for each in only["args"]]
    with (tmp_path / "log").open("wb") as log:
        process = installed.start(command, environment, log)
    await_answer(port, process, tmp_path / "log", only["startupProbe"]["httpGet"]["path"])
    paths = [only[name]["httpGet"]["path"] for name in ("readinessProbe", "livenessProbe")]
    path = pod("deployment.yaml")["metadata"]["annotations"]["prometheus.io/path"]
    for url in (*(f"{port}{each}" for each in paths), f"{metrics}{path}"):
        with urllib.request.urlopen(f"http://127.0.0.1:{url}", timeout=START) as answer:
            assert answer.status == 200
    process.terminate()
    assert process.wait(START) == 0
