"""prefect.yaml has only known keys: Prefect ignores a misspelt one without a warning."""

from typing import Any

import pytest
from ruamel.yaml import YAML

from flows.backfill import backfill
from tests.prefect.conftest import ROOT

KEYS = {
    "": {"name", "deployments"},
    "deployments": {
        "name",
        "description",
        "entrypoint",
        "pull",
        "parameters",
        "schedules",
        "concurrency_limit",
        "tags",
        "work_pool",
    },
    "schedules": {"cron", "timezone"},
    "work_pool": {"name"},
}


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe").load(ROOT / "prefect.yaml")
    return content


def test_it_has_only_known_keys(file: dict[str, Any]) -> None:
    (deployment,) = file["deployments"]
    (schedule,) = deployment["schedules"]
    assert set(file) == KEYS[""]
    assert set(deployment) == KEYS["deployments"]
    assert set(schedule) == KEYS["schedules"]
    assert set(deployment["work_pool"]) == KEYS["work_pool"]


def test_a_deployment_does_not_depend_on_the_folder_it_was_deployed_from(
    file: dict[str, Any],
) -> None:
    assert [deployment["pull"] for deployment in file["deployments"]] == [[]]


def test_no_path_depends_on_the_folder_of_a_worker(file: dict[str, Any]) -> None:
    parameters = file["deployments"][0]["parameters"]
    assert all(path.startswith("~/") for path in parameters["archives"])


def test_lake_and_graph_are_those_of_the_command(file: dict[str, Any]) -> None:
    assert not {"lake", "graph"} & set(file["deployments"][0]["parameters"])


def test_its_parameters_are_parameters_of_the_flow(file: dict[str, Any]) -> None:

    for deployment in file["deployments"]:
        assert deployment["entrypoint"] == "flows.backfill.backfill"
        assert set(deployment["parameters"]) <= set(backfill.parameters.properties)
