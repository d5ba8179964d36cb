"""The Kubernetes example is what a cluster takes, and fits the service, its image and its settings."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app import version
from app.cli.lazily import loaded
from app.settings import Settings, SettingsError, read_settings, variable
from app.tools.network_guard import WEB_PORTS
from tests.support.postgres import ROOT

EXAMPLE = ROOT / "docs/kubernetes"
CLUSTERS = ("1.30", kubernetes_validate.latest_version())
"""The oldest that has the pause of `preStop`, and the newest that is known."""
PLACEHOLDER = "REPLACE ME"
SECRETS = {
    "DATABASE_URL": "postgresql://chargehand:secret@postgres.database.svc:5432/chargehand",
    "ANTHROPIC_API_KEY": "sk-ant-test",
    "CHARGEHAND_SECRETS_KEY": "A" * 43 + "=",
}
Json = dict[str, Any]


def documents() -> Iterator[Json]:
    for file in sorted(EXAMPLE.glob("*.yaml")):
        yield from yaml.safe_load_all(file.read_text())


RESOURCES = {(each["kind"], each["metadata"]["name"]): each for each in documents()}
POD: Json = RESOURCES["Deployment", "chargehand"]["spec"]["template"]
[SERVER] = POD["spec"]["containers"]
MIGRATION: Json = RESOURCES["Job", "chargehand-migrate"]["spec"]["template"]
[MIGRATE] = MIGRATION["spec"]["containers"]
CONFIG: dict[str, str] = RESOURCES["ConfigMap", "chargehand"]["data"]
PORTS = {port["name"]: port["containerPort"] for port in SERVER["ports"]}


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """What the service takes from the ConfigMap and the Secret together."""
    for name, value in {**CONFIG, **SECRETS}.items():
        monkeypatch.setenv(name, value)
    return read_settings()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_every_resource_is_what_a_cluster_takes(cluster: str) -> None:
    for resource in RESOURCES.values():
        kubernetes_validate.validate(resource, cluster, strict=True)


def test_a_field_that_no_cluster_knows_is_found() -> None:
    misspelt = deepcopy(RESOURCES["Deployment", "chargehand"])
    misspelt["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}

    with pytest.raises(kubernetes_validate.ValidationError, match="readynessProbe"):
        kubernetes_validate.validate(misspelt, CLUSTERS[-1], strict=True)


def test_the_service_takes_the_settings_and_listens_where_the_example_says(settings: Settings) -> None:
    assert (settings.host, settings.auth, settings.answering_model) == ("0.0.0.0", "keys", "claude")
    assert {"http": settings.port, "metrics": settings.metrics_port} == PORTS
    annotations = POD["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(settings.metrics_port)


@pytest.mark.parametrize("name", SECRETS)
def test_nothing_starts_with_what_stands_in_the_template_of_the_secret(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    template = RESOURCES["Secret", "chargehand"]["stringData"]
    assert template == dict.fromkeys(SECRETS, PLACEHOLDER)
    assert {*SECRETS, *CONFIG} <= {variable(field) for field in Settings.model_fields}
    monkeypatch.setenv(name, template[name])

    with pytest.raises(SettingsError, match=f"^{name}: "):
        read_settings()


def test_probes_ask_what_there_is_and_a_pod_has_the_time_to_hand_its_runs_over(settings: Settings) -> None:
    probes = {name: SERVER[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    paths = json.loads((ROOT / "openapi/openapi.json").read_text())["paths"]
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert all("get" in paths[probe["path"]] and probe["port"] in PORTS for probe in probes.values())
    leaving = SERVER["lifecycle"]["preStop"]["sleep"]["seconds"] + settings.drain_seconds
    assert POD["spec"]["terminationGracePeriodSeconds"] >= leaving + 10


def test_whatever_selects_pods_selects_those_of_the_example() -> None:
    server, migration = POD["metadata"]["labels"], MIGRATION["metadata"]["labels"]
    spread = [each["labelSelector"]["matchLabels"] for each in POD["spec"]["topologySpreadConstraints"]]
    of_server = [RESOURCES["Service", "chargehand"]["spec"]["selector"], *spread]
    of_server += [
        RESOURCES[kind, "chargehand"]["spec"]["selector"]["matchLabels"]
        for kind in ("Deployment", "PodDisruptionBudget")
    ]
    policies = {name: RESOURCES["NetworkPolicy", name]["spec"] for name in ("chargehand", "chargehand-migrate")}

    assert all(selected == server for selected in of_server)
    assert policies["chargehand"]["podSelector"]["matchLabels"] == server
    assert policies["chargehand-migrate"]["podSelector"]["matchLabels"] == migration
    assert RESOURCES["Service", "chargehand"]["spec"]["ports"][0]["targetPort"] in PORTS
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies.values())


def test_the_network_lets_through_what_the_service_needs() -> None:
    policy = RESOURCES["NetworkPolicy", "chargehand"]["spec"]
    admitted = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    dns, postgres, web = [{port["port"] for port in rule["ports"]} for rule in policy["egress"]]

    assert admitted == PORTS.keys()
    assert (dns, postgres, web) == ({53}, {5432}, {*WEB_PORTS})
    assert RESOURCES["NetworkPolicy", "chargehand-migrate"]["spec"]["egress"] == policy["egress"][:2]


@pytest.mark.parametrize("container", [SERVER, MIGRATE], ids=["serve", "migrate"])
def test_a_container_runs_a_command_of_this_release_as_the_user_of_its_image_and_writes_to_tmp_alone(
    container: Json,
) -> None:
    program, name, *options = container["command"]
    loaded(name).make_context(name, options).close()
    assert (program, container["image"]) == ("chargehand", f"chargehand:{version}")

    pod = POD if container is SERVER else MIGRATION
    [user] = re.findall(r"--uid (\d+)", Path(ROOT / "Dockerfile").read_text())
    assert pod["spec"]["securityContext"]["runAsUser"] == int(user)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [mount["mountPath"] for mount in container.get("volumeMounts", [])] in ([], ["/tmp"])
    assert [each["name"] for source in container["envFrom"] for each in source.values()] == ["chargehand"] * 2
