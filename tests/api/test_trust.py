"""The Python API in a working directory that somebody else made."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

import turnetl
from tests.cli.planted_folder import PlantedFolder, model_of, plant
from tests.servers.provider import KEY, FakeProvider
from turnetl.settings import trust_folder, trust_store

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: FakeProvider
) -> PlantedFolder:
    """Work in a folder whose configuration names a model."""
    folder = plant(tmp_path)
    folder.write_config(llm=model_of(provider))
    folder.write_template("Look for the planted words.")
    monkeypatch.setenv("HOME", str(folder.home))
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(folder.path)
    return folder


def trust(planted: PlantedFolder) -> None:
    trust_folder(trust_store(), planted.path, home=planted.home, now=NOW)


@pytest.mark.full
async def test_an_untrusted_working_directory_gets_no_request_and_no_key(
    planted: PlantedFolder,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TURNETL_LLM__API_KEY", KEY)
    archive = str(planted.home / "a.jsonl")
    structural = turnetl.load_settings(extractor="structural")
    await turnetl.backfill(archive, structural)
    assert (structural.llm.base_url, provider.requests) == (None, [])
    [message] = [record.getMessage() for record in caplog.records if _is_warning(record)]
    assert "ignored" in message
    assert "`turnetl trust`" in message
    trust(planted)
    trusted = turnetl.load_settings(lake=planted.home / "other")
    await turnetl.backfill(archive, trusted)
    sent = json.dumps([[dict(request.headers), request.body] for request in provider.requests])
    assert KEY in sent
    assert "planted words" in sent
    provider.requests.clear()
    planted.write_config(llm=model_of(provider) | {"effort": "high"})
    assert turnetl.load_settings(extractor="structural").llm.base_url is None
    assert provider.requests == []


async def test_settings_that_a_program_makes_itself_use_no_untrusted_template(
    planted: PlantedFolder, provider: FakeProvider
) -> None:
    settings = turnetl.Settings.model_validate(
        {"llm": model_of(provider), "lake": planted.home / "lake"}
    )
    await turnetl.backfill(str(planted.home / "a.jsonl"), settings)
    assert provider.requests
    assert not [request for request in provider.requests if "planted words" in str(request.body)]


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING and record.name.startswith("turnetl.settings")
