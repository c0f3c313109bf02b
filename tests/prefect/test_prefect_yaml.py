"""prefect.yaml has only known keys: Prefect ignores a misspelt one without a warning."""

from typing import Any

import pytest
from prefect import Flow
from ruamel.yaml import YAML

from flows.backfill import backfill
from flows.migrate import migrate
from tests.prefect.conftest import ROOT

FLOWS: dict[str, Flow[..., Any]] = {
    "flows.backfill.backfill": backfill,
    "flows.migrate.migrate": migrate,
}
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
    assert set(file) == KEYS[""]
    for deployment in file["deployments"]:
        assert set(deployment) <= KEYS["deployments"]
        assert set(deployment["work_pool"]) == KEYS["work_pool"]
        for schedule in deployment.get("schedules", []):
            assert set(schedule) == KEYS["schedules"]


def test_a_deployment_does_not_depend_on_the_folder_it_was_deployed_from(
    file: dict[str, Any],
) -> None:
    assert {str(deployment["pull"]) for deployment in file["deployments"]} == {"[]"}


def test_no_path_depends_on_the_folder_of_a_worker(file: dict[str, Any]) -> None:
    for deployment in file["deployments"]:
        assert all(path.startswith("~/") for path in deployment["parameters"]["archives"])


def test_lake_and_graph_are_those_of_the_command(file: dict[str, Any]) -> None:
    for deployment in file["deployments"]:
        assert not {"lake", "graph"} & set(deployment["parameters"])


def test_its_parameters_are_parameters_of_the_flow(file: dict[str, Any]) -> None:
    for deployment in file["deployments"]:
        flow = FLOWS[deployment["entrypoint"]]
        assert set(deployment["parameters"]) <= set(flow.parameters.properties)


def test_no_deployment_cuts_a_migration_over(file: dict[str, Any]) -> None:
    [given] = [one["parameters"] for one in file["deployments"] if one["name"] == "migrate"]
    assert (given["cutover"], "accept" in given) == (False, False)
    defaults = migrate.parameters.properties
    assert [defaults[name]["default"] for name in ("cutover", "accept")] == [False, False]
