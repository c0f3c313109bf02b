"""A flow in a working directory that somebody else made."""

from pathlib import Path
from typing import Any

import pytest
from prefect import State

from flows.backfill import backfill
from tests.cli.planted_folder import PlantedFolder, model_of, plant
from tests.servers.provider import KEY, FakeProvider

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]


async def run_flow(planted: PlantedFolder, **parameters: Any) -> State[Any]:
    state: State[Any] = await backfill(
        [str(planted.home / "a.jsonl")], **parameters, return_state=True
    )
    return state


@pytest.mark.full
async def test_a_flow_sends_nothing_to_the_endpoint_of_an_untrusted_working_directory(
    tmp_path: Path,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    flow_log: pytest.LogCaptureFixture,
) -> None:
    planted = plant(tmp_path)
    planted.write_config(llm=model_of(provider))
    monkeypatch.setenv("HOME", str(planted.home))
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("TURNETL_LLM__API_KEY", KEY)
    monkeypatch.chdir(planted.path)
    ignored = await run_flow(planted, extractor="structural")
    assert ignored.is_completed(), ignored.message
    assert provider.requests == []
    assert [text for text in flow_log.messages if "which is not trusted" in text]
    assert planted.run("trust").exit_code == 0
    trusted = await run_flow(planted, lake=str(planted.home / "other"))
    assert trusted.is_completed(), trusted.message
    assert KEY in str([dict(request.headers) for request in provider.requests])
