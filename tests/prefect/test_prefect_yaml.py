"""Prefect reads every key of prefect.yaml: it ignores a misspelt one without a warning."""

from typing import Any

import pytest
from prefect import Flow
from ruamel.yaml import YAML

from flows.backfill import backfill
from flows.backfill_sharded import backfill_sharded
from flows.migrate import migrate
from flows.nightly import nightly
from flows.rescue import rescue
from flows.run_flow import VERSION
from flows.shard import shard
from flows.summarize import summarize
from tests.servers.prefect_server import ROOT, PrefectServer

FLOWS: dict[str, Flow[..., Any]] = {
    "flows.backfill.backfill": backfill,
    "flows.backfill_sharded.backfill_sharded": backfill_sharded,
    "flows.migrate.migrate": migrate,
    "flows.nightly.nightly": nightly,
    "flows.rescue.rescue": rescue,
    "flows.shard.shard": shard,
    "flows.summarize.summarize": summarize,
}
READ = {
    "name",
    "description",
    "entrypoint",
    "pull",
    "parameters",
    "schedules",
    "concurrency_limit",
    "tags",
    "version_type",
    "work_pool",
}
"""Keys whose values on the server are compared below."""


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe").load(ROOT / "prefect.yaml")
    return content


@pytest.mark.prefect
def test_prefect_reads_every_key(file: dict[str, Any], deployed: PrefectServer) -> None:
    """A deployment on the server has each value of the file."""
    assert set(file) == {"name", "deployments"}
    for given in file["deployments"]:
        assert set(given) <= READ
        flow = FLOWS[given["entrypoint"]]
        made = deployed.read(f"deployments/name/{flow.name}/{given['name']}")
        for key in ("name", "description", "entrypoint", "tags"):
            assert made[key] == given[key]
        assert made["pull_steps"] in (None, given["pull"])
        assert made["parameters"] == given.get("parameters", {})
        assert made["enforce_parameter_schema"] is True
        versions = {"prefect:simple": VERSION}
        assert made["version"] == versions[given["version_type"]]
        of_pool = {"name": made["work_pool_name"], "work_queue_name": made["work_queue_name"]}
        assert of_pool == given["work_pool"]
        limit = {
            "limit": made["global_concurrency_limit"]["limit"],
            "collision_strategy": made["concurrency_options"]["collision_strategy"],
        }
        assert limit == given["concurrency_limit"]
        schedules = [one["schedule"] for one in made["schedules"]]
        assert [{key: one[key] for key in ("cron", "timezone")} for one in schedules] == given.get(
            "schedules", []
        )


def test_a_deployment_does_not_depend_on_the_folder_it_was_deployed_from(
    file: dict[str, Any],
) -> None:
    assert {str(deployment["pull"]) for deployment in file["deployments"]} == {"[]"}


def test_no_path_depends_on_the_folder_of_a_worker(file: dict[str, Any]) -> None:
    for deployment in file["deployments"]:
        archives = deployment.get("parameters", {}).get("archives", [])
        assert all(path.startswith("~/") for path in archives)


@pytest.mark.full
def test_lake_and_graph_are_those_of_the_command(file: dict[str, Any]) -> None:
    for deployment in file["deployments"]:
        assert not {"lake", "graph"} & set(deployment.get("parameters", {}))


def test_its_parameters_are_parameters_of_the_flow(file: dict[str, Any]) -> None:
    for deployment in file["deployments"]:
        flow = FLOWS[deployment["entrypoint"]]
        assert set(deployment.get("parameters", {})) <= set(flow.parameters.properties)


@pytest.mark.full
def test_no_deployment_cuts_a_migration_over(file: dict[str, Any]) -> None:
    [given] = [one["parameters"] for one in file["deployments"] if one["name"] == "migrate"]
    assert (given["cutover"], "accept" in given) == (False, False)
    defaults = migrate.parameters.properties
    assert [defaults[name]["default"] for name in ("cutover", "accept")] == [False, False]
