"""Settings from Secret blocks, variables and the worker's environment; Prefect shows none."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect import State
from prefect.blocks.system import Secret
from prefect.variables import Variable
from pydantic import SecretStr

from flows.backfill import backfill
from flows.run_settings import load_run_settings
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.prefect_server import PrefectServer
from tests.servers.provider import FakeProvider
from turnetl.base.errors import BadUsage

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

API_KEY = "1234567890"
"""All digits: no other type must be made of it."""


async def save_secret(name: str, value: str) -> None:
    block: Secret[str] = Secret(value=SecretStr(value))
    await block.save(name, overwrite=True)


async def run(archive: Path, **parameters: Any) -> State[Any]:
    state: State[Any] = await backfill([str(archive)], **parameters, return_state=True)
    return state


def shown(server: PrefectServer, run: str) -> str:
    """Return what Prefect stores of a run: itself, its log and all artifacts."""
    of_run = {"flow_runs": {"id": {"any_": [run]}}}
    logs = {"logs": {"flow_run_id": {"any_": [run]}}}
    queries = (("flow_runs", of_run), ("task_runs", of_run), ("artifacts", of_run), ("logs", logs))
    return "".join(
        httpx.post(f"{server.url}/{path}/filter", json=query, timeout=30).raise_for_status().text
        for path, query in queries
    )


@pytest.mark.full
async def test_lake_graph_and_key_come_from_blocks_and_variables_and_are_not_shown(
    tmp_path: Path,
    provider: FakeProvider,
    server: PrefectServer,
    monkeypatch: pytest.MonkeyPatch,
    flow_log: pytest.LogCaptureFixture,
) -> None:
    for name, value in model_environment(provider).items():
        if "API_KEY" not in name:
            monkeypatch.setenv(name, value)
    graph, lake = tmp_path / "hidden.lbug", tmp_path / "lake"
    await save_secret("graph-url", f"ladybug://{graph}")
    await save_secret("model-key", API_KEY)
    await Variable.aset("lake_of_the_test", str(lake), overwrite=True)
    state = await run(
        write_session(tmp_path / "a.jsonl", 1),
        settings_from={
            "graph": "secret/graph-url",
            "llm.api_key": "secret/model-key",
            "lake": "variable/lake_of_the_test",
        },
    )
    assert state.is_completed(), state.message
    assert graph.exists()
    assert (lake / "turns").is_dir()
    assert API_KEY in str([dict(request.headers) for request in provider.requests])
    text = shown(server, str(state.state_details.flow_run_id)) + flow_log.text
    assert "secret/model-key" in text
    assert API_KEY not in text
    assert "hidden.lbug" not in text


@pytest.mark.full
async def test_the_password_of_a_graph_comes_from_a_block_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save_secret("neo4j-password", "in-the-block")
    url, lake = "bolt://localhost:7687", str(tmp_path)
    monkeypatch.setenv("NEO4J_PASSWORD", "in-the-environment")
    environment = await load_run_settings(None, lake, url, settings_from=None)
    sources: Any = {"graph_password": "secret/neo4j-password"}
    block = await load_run_settings(None, lake, url, settings_from=sources)
    passwords = [one.graph_password for one in (environment, block)]
    assert [one.get_secret_value() for one in passwords if one] == [
        "in-the-environment",
        "in-the-block",
    ]


@pytest.mark.full
@pytest.mark.parametrize("source", ["secret/absent", "variable/absent"])
async def test_a_missing_block_or_variable_is_named_with_its_setting(source: str) -> None:
    with pytest.raises(BadUsage, match=r"`absent`.*`llm.model`"):
        await load_run_settings(None, None, None, settings_from={"llm.model": source})


@pytest.mark.full
async def test_a_wrong_value_of_a_block_is_not_repeated(tmp_path: Path) -> None:
    await save_secret("wrong-url", "ftp://user:some-secret@host")
    state = await run(tmp_path, settings_from={"llm.base_url": "secret/wrong-url"})
    assert state.is_failed()
    assert "base_url" in (state.message or "")
    assert "some-secret" not in (state.message or "")
