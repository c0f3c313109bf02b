"""`turnetl prefect doctor` finds what a deployment names and the server lacks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect import Flow
from prefect.blocks.system import Secret
from prefect.client.orchestration import PrefectClient, get_client
from prefect.exceptions import ObjectNotFound
from prefect.variables import Variable
from pydantic import SecretStr

from flows.backfill import backfill
from flows.backfill_sharded import backfill_sharded
from flows.run_flow import VERSION
from flows.server import MODEL_LIMIT
from flows.server_doctor import check_server
from flows.server_setup import LAKE_VARIABLE, ServerSetup
from tests.cli.command import turnetl_process
from tests.servers.prefect_server import PrefectServer
from turnetl.base.clock import now
from turnetl.prefect_report import DoctorFinding, FindingKind

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

POOL = "pool-of-needs"
NAME = "needs"
"""Of the deployment."""


@pytest.fixture
async def client() -> AsyncIterator[PrefectClient]:
    async with get_client() as opened:
        yield opened


@asynccontextmanager
async def deployment(
    client: PrefectClient,
    flow: Flow[..., Any] = backfill,
    **options: Any,
) -> AsyncIterator[UUID]:
    """A deployment of a flow, which is deleted in the end."""
    made = await client.create_deployment(
        await client.create_flow(flow), NAME, version=VERSION, **options
    )
    try:
        yield made
    finally:
        await client.delete_deployment(made)


async def findings(*, fix: bool = False) -> dict[FindingKind, DoctorFinding]:
    """Return what the doctor finds about the deployment, by kind."""
    setup = ServerSetup(POOL, slots=3, lake="/lake") if fix else None
    report = await check_server(now, silent_minutes=15, fix=setup)
    return {one.kind: one for one in report.findings if f"`{NAME}`" in one.message}


async def without(client: PrefectClient) -> None:
    """Delete what another test may have made."""
    with suppress(ObjectNotFound):
        await client.delete_global_concurrency_limit_by_name(MODEL_LIMIT)
    with suppress(ObjectNotFound):
        await client.delete_variable_by_name(LAKE_VARIABLE)


@pytest.mark.full
async def test_what_the_set_up_makes_is_created_if_it_is_missing(
    server: PrefectServer, client: PrefectClient, tmp_path: Path
) -> None:
    await without(client)
    sources = {"lake": f"variable/{LAKE_VARIABLE}"}
    parameters = {"archives": ["/x"], "model_slots": MODEL_LIMIT, "settings_from": sources}
    async with deployment(client, parameters=parameters):
        found = await findings()
        assert {kind: one.subject for kind, one in found.items()} == {
            FindingKind.MISSING_LIMIT: MODEL_LIMIT,
            FindingKind.MISSING_VARIABLE: LAKE_VARIABLE,
        }
        assert {(one.message, one.can_fix) for one in found.values()} == {
            (f"missing, and needed by `{NAME}`", True)
        }
        command = ("prefect", "doctor", "--fix", "--lake", "lake", "--json")
        environment = {
            "PREFECT_API_URL": server.url,
            "PREFECT_HOME": str(tmp_path),
            "TURNETL_LLM__CONCURRENCY": "5",
        }
        fixed = turnetl_process(*command, folder=tmp_path, **environment)
        shown = {one["subject"]: one["fixed"] for one in fixed.json["findings"]}
        assert (shown[MODEL_LIMIT], shown[LAKE_VARIABLE]) == (True, True)
        assert await findings() == {}
    variable = await client.read_variable_by_name(LAKE_VARIABLE)
    assert variable is not None
    assert variable.value == str(tmp_path / "lake")
    assert (await client.read_global_concurrency_limit_by_name(MODEL_LIMIT)).limit == 5


@pytest.mark.full
async def test_other_limits_blocks_and_variables_are_named_with_what_to_do(
    client: PrefectClient,
) -> None:
    sources = {"llm.api_key": "secret/key-of-needs", "llm.model": "variable/model_of_needs"}
    parameters = {"archives": ["/x"], "model_slots": "slots-of-needs", "settings_from": sources}
    async with deployment(client, parameters=parameters):
        found = await findings(fix=True)
        assert {kind: (one.subject, one.can_fix) for kind, one in found.items()} == {
            FindingKind.MISSING_LIMIT: ("slots-of-needs", False),
            FindingKind.MISSING_BLOCK: ("key-of-needs", False),
            FindingKind.MISSING_VARIABLE: ("model_of_needs", False),
        }
        remedy = found[FindingKind.MISSING_LIMIT].remedy
        assert "`prefect gcl create slots-of-needs --limit N`" in remedy
        await Secret(value=SecretStr("a-key")).save("key-of-needs")
        await Variable.aset("model_of_needs", "a-model")
        assert set(await findings()) == {FindingKind.MISSING_LIMIT}


@pytest.mark.full
@pytest.mark.parametrize("deleted", ["queue", "pool"])
async def test_a_deployment_whose_queue_or_pool_was_deleted_is_found(
    client: PrefectClient, deleted: str
) -> None:
    await ServerSetup(POOL, 3, "/lake").execute()
    at: Any = {"work_pool_name": POOL, "work_queue_name": "backfill"}
    async with deployment(client, parameters={"archives": ["/x"]}, **at):
        assert await findings() == {}
        if deleted == "pool":
            await client.delete_work_pool(POOL)
        else:
            queue = await client.read_work_queue_by_name("backfill", POOL)
            await client.delete_work_queue_by_id(queue.id)
        [found] = (await findings()).values()
        assert (found.kind, found.subject) == (FindingKind.MISSING_QUEUE, "backfill")
        assert "`turnetl prefect setup`" in found.remedy
        assert "`prefect --no-prompt deploy --all`" in found.remedy


@pytest.mark.full
async def test_a_sharded_backfill_without_the_deployment_of_its_shards_is_found(
    server: PrefectServer, client: PrefectClient
) -> None:
    was_deployed = await deleted_shard(client)
    entrypoint = "flows.backfill_sharded.backfill_sharded"
    parameters = {"archives": ["/x"]}
    async with deployment(client, backfill_sharded, parameters=parameters, entrypoint=entrypoint):
        [found] = (await findings()).values()
        assert (found.kind, found.subject) == (FindingKind.MISSING_DEPLOYMENT, "shard/shard")
    if was_deployed:
        again = server.run("prefect", "--no-prompt", "deploy", "--name", "shard")
        assert again.returncode == 0, again.stdout + again.stderr


async def deleted_shard(client: PrefectClient) -> bool:
    """Delete the deployment of shards, and return whether there was one."""
    try:
        found = await client.read_deployment_by_name("shard/shard")
    except ObjectNotFound:
        return False
    await client.delete_deployment(found.id)
    return True
