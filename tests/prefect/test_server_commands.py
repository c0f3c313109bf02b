"""`turnetl prefect`: what it makes on Prefect's server, and what it finds and fixes there."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prefect.blocks.notifications import SlackWebhook
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Completed, Running
from pydantic import SecretStr

from flows.backfill import backfill
from flows.run_flow import VERSION
from flows.server import MODEL_LIMIT
from flows.server_doctor import check_server
from flows.server_setup import AUTOMATION, LAKE_VARIABLE, QUEUES, ServerSetup
from tests.cli.command import CommandResult, turnetl_process
from tests.prefect.http_listener import listening
from tests.servers.free_port import free_port
from tests.servers.prefect_server import PrefectServer
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage, Retryable
from turnetl.prefect_report import DoctorReport, FindingKind, SetupChange

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

POOL = "pool-of-the-test"


@pytest.fixture
async def client() -> AsyncIterator[PrefectClient]:
    async with get_client() as opened:
        yield opened


def turnetl(server: PrefectServer, folder: Path, *arguments: str) -> CommandResult:
    return turnetl_process(
        *arguments, folder=folder, PREFECT_API_URL=server.url, PREFECT_HOME=str(folder)
    )


def in_an_hour() -> datetime:
    return now() + timedelta(hours=1)


async def examined(*, fix: bool = False) -> DoctorReport:
    setup = ServerSetup(POOL, slots=3, lake="/lake") if fix else None
    return await check_server(in_an_hour, silent_minutes=15, fix=setup)


def subjects(report: DoctorReport, kind: FindingKind, *, fixed: bool = False) -> list[str]:
    return [one.subject for one in report.findings if (one.kind, one.fixed) == (kind, fixed)]


@pytest.mark.full
async def test_the_set_up_creates_what_is_missing_and_a_second_one_changes_nothing(
    server: PrefectServer, client: PrefectClient, tmp_path: Path
) -> None:
    setup = ("prefect", "setup", "--pool", POOL, "--slots", "3", "--lake", "lake", "--json")
    await _delete_what_another_test_made(client)
    first = turnetl(server, tmp_path, *setup)
    assert first.exit_code == 0, first.stderr
    made = first.json["items"]
    assert {item["change"] for item in made} == {"created"}
    assert [item["name"] for item in made] == [
        POOL,
        *QUEUES,
        MODEL_LIMIT,
        LAKE_VARIABLE,
        AUTOMATION,
    ]
    assert (await client.read_work_pool(POOL)).type == "process"
    queues = [await client.read_work_queue_by_name(name, POOL) for name in QUEUES]
    priorities = [queue.priority or 0 for queue in queues]
    assert priorities == sorted(set(priorities))
    assert (await client.read_global_concurrency_limit_by_name(MODEL_LIMIT)).limit == 3
    variable = await client.read_variable_by_name(LAKE_VARIABLE)
    assert variable is not None
    assert variable.value == str(tmp_path / "lake")
    again = await ServerSetup(POOL, slots=9, lake="/another").execute()
    assert {item.change for item in again.items} == {SetupChange.KEPT}
    assert [(item.name, item.value) for item in again.items] == [
        (item["name"], item["value"]) for item in made
    ]


async def _delete_what_another_test_made(client: PrefectClient) -> None:
    for automation in await client.read_automations_by_name(AUTOMATION):
        await client.delete_automation(automation.id)
    with suppress(ObjectNotFound):
        await client.delete_global_concurrency_limit_by_name(MODEL_LIMIT)
    with suppress(ObjectNotFound):
        await client.delete_variable_by_name(LAKE_VARIABLE)
    with suppress(ObjectNotFound):
        await client.delete_work_pool(POOL)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_the_automation_notifies_once_a_block_is_named(client: PrefectClient) -> None:
    webhook = SlackWebhook(url=SecretStr("https://hooks.example.org/team"))
    await webhook.save("team", overwrite=True)
    changed = await ServerSetup(POOL, 3, "/lake", notify="slack-webhook/team").execute()
    assert changed.items[-1].value == "enabled"
    [automation] = await client.read_automations_by_name(AUTOMATION)
    assert automation.enabled
    assert [action.type for action in automation.actions] == ["send-notification"]
    kept = await ServerSetup(POOL, 3, "/lake", notify="slack-webhook/team").execute()
    assert {item.change for item in kept.items} == {SetupChange.KEPT}
    for wrong in ("team", "slack-webhook/nobody"):
        with pytest.raises(BadUsage, match=f"`{wrong}`"):
            await ServerSetup(POOL, 3, "/lake", notify=wrong).execute()


@pytest.mark.full
async def test_a_run_without_a_sign_of_life_is_found_and_set_to_crashed(
    server: PrefectServer, client: PrefectClient, tmp_path: Path
) -> None:
    dead = await client.create_flow_run(
        backfill, name="dead", parameters={"archives": ["/x"]}, state=Running()
    )
    early = await check_server(now, silent_minutes=15, fix=ServerSetup(POOL, 3, "/lake"))
    assert "dead" not in subjects(early, FindingKind.ZOMBIE_RUN)
    assert "dead" in subjects(await examined(), FindingKind.ZOMBIE_RUN)
    assert (await client.read_flow_run(dead.id)).state_type == "RUNNING"
    assert "dead" in subjects(await examined(fix=True), FindingKind.ZOMBIE_RUN, fixed=True)
    assert (await client.read_flow_run(dead.id)).state_type == "CRASHED"
    assert "dead" not in subjects(await examined(), FindingKind.ZOMBIE_RUN)
    shown = turnetl(server, tmp_path, "prefect", "doctor", "--json")
    assert shown.json["version"] == VERSION


@pytest.mark.full
async def test_slots_that_no_run_holds_are_found_and_given_back(
    deployed: PrefectServer, client: PrefectClient
) -> None:
    await ServerSetup(POOL, 3, "/lake").execute()
    summarizing = f"deployment:{deployed.deployment('summarize/summarize')}"
    for name, slots in ((MODEL_LIMIT, 2), (summarizing, 1)):
        update = GlobalConcurrencyLimitUpdate(active_slots=slots)
        await client.update_global_concurrency_limit(name, update)
    expected = ["summarize", MODEL_LIMIT]
    assert sorted(subjects(await examined(), FindingKind.LEAKED_SLOTS)) == expected
    fixed = await examined(fix=True)
    assert sorted(subjects(fixed, FindingKind.LEAKED_SLOTS, fixed=True)) == expected
    for name in (MODEL_LIMIT, summarizing):
        assert (await client.read_global_concurrency_limit_by_name(name)).active_slots == 0
    assert subjects(await examined(), FindingKind.LEAKED_SLOTS) == []


@pytest.mark.full
async def test_other_versions_of_deployments_and_workers_and_a_missing_worker_are_found(
    client: PrefectClient,
) -> None:
    await ServerSetup(POOL, 3, "/lake").execute()
    flow = await client.create_flow(backfill)
    made = await client.create_deployment(flow, "old", version="0.0.1", work_pool_name=POOL)
    run = await client.create_flow_run_from_deployment(made)
    await client.update_flow_run(run.id, flow_version="0.0.2")
    await client.set_flow_run_state(run.id, Completed(), force=True)
    report: Any = await examined(fix=True)
    found = {one.kind: one.message for one in report.findings if one.subject in ("old", POOL)}
    assert "0.0.1" in found[FindingKind.DEPLOYMENT_VERSION]
    assert VERSION in found[FindingKind.DEPLOYMENT_VERSION]
    assert "0.0.2" in found[FindingKind.WORKER_VERSION]
    assert found[FindingKind.NO_WORKER] == "no worker is online"
    assert report.left >= len(found)
    await client.delete_deployment(made)


@pytest.mark.full
async def test_a_server_that_does_not_respond_is_named_without_its_password() -> None:
    url = f"http://user:a-password@127.0.0.1:{free_port()}/api"
    with (
        temporary_settings({PREFECT_API_URL: url}),
        pytest.raises(Retryable, match="did not respond") as refused,
    ):
        await ServerSetup(POOL, 3, "/lake").execute()
    assert "a-password" not in str(refused.value)


@pytest.mark.full
@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (404, b"{}", BadUsage, r"is not the API .* with `/api` at its end"),
        (200, b"<html>", BadUsage, r"is not the API .* with `/api` at its end"),
        (401, b"{}", BadUsage, "refuses the login: correct PREFECT_API_AUTH_STRING"),
        (500, b"{}", Retryable, r"failed \(status 500\)"),
    ],
    ids=["not_found", "page", "login", "failure"],
)
async def test_a_url_that_is_not_that_of_the_api_is_named_with_what_to_correct(
    status: int, body: bytes, error: type[Exception], message: str
) -> None:
    with (
        listening(status, body) as other,
        temporary_settings({PREFECT_API_URL: other.url, PREFECT_CLIENT_MAX_RETRIES: 0}),
        pytest.raises(error, match=message),
    ):
        await ServerSetup(POOL, 3, "/lake").execute()


async def test_a_url_without_a_scheme_is_named_with_an_example() -> None:
    with (
        temporary_settings({PREFECT_API_URL: "localhost:4200/api"}),
        pytest.raises(BadUsage, match=r"localhost:4200/api is not the API .*http://"),
    ):
        await ServerSetup(POOL, 3, "/lake").execute()


@pytest.mark.full
def test_without_a_server_the_command_says_which_variable_to_set(tmp_path: Path) -> None:
    for command in ("setup", "doctor"):
        done = turnetl_process("prefect", command, folder=tmp_path, PREFECT_HOME=str(tmp_path))
        assert done.exit_code == 2
        assert "PREFECT_API_URL" in done.stderr
