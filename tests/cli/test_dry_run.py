"""`--dry-run` of `ingest` and `backfill` prints the requests of a run and sends none."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider


@pytest.mark.full
def test_a_dry_run_prints_the_very_requests_and_sends_none(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 3)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    dry = ("ingest", "--dry-run", "--json")
    preview = run_in_process(
        *dry, "--limit", "2", folder=tmp_path, **model_environment(provider)
    ).json
    assert (provider.requests, preview["pending"]) == ([], 3)
    assert not (tmp_path / ".turnetl" / "lake" / "journal.sqlite").exists()
    requests = run_in_process(*dry, folder=tmp_path, **model_environment(provider)).json["requests"]
    assert requests == preview["requests"][: len(requests)]
    assert 0 < len(requests) < len(preview["requests"])
    run_in_process("ingest", folder=tmp_path, **model_environment(provider))
    first = [[message["text"] for message in request["messages"]] for request in requests]
    sent = [[text for _, text in request.messages] for request in provider.requests]
    assert first[0] in sent


@pytest.mark.full
def test_a_dry_run_of_backfill_prints_the_requests_that_ingest_would(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    dry = ("--dry-run", "--json")
    backfill = run_in_process(
        "backfill", "a.jsonl", *dry, folder=tmp_path, **model_environment(provider)
    ).json
    ingest = run_in_process("ingest", *dry, folder=tmp_path, **model_environment(provider)).json
    assert backfill["requests"] == ingest["requests"] != []
    assert (backfill["pending"], provider.requests) == (2, [])
    done = run_in_process(
        "backfill", "a.jsonl", "--json", folder=tmp_path, **model_environment(provider)
    ).json
    assert (done["committed"], done["requests"], done["request_tokens"]) == (2, None, None)


def test_a_dry_run_of_backfill_prints_the_instructions_of_this_run(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    instructions = "Look at the colours, " * 20
    command = ("backfill", "a.jsonl", "--dry-run", "--preprocessing", instructions)
    preview = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    assert preview.exit_code == 0
    assert instructions.strip() in preview.stdout


def test_a_dry_run_prints_the_instructions_of_this_run(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    instructions = "Look at the colours, " * 20
    command = ("ingest", "--dry-run", "--preprocessing", instructions)
    preview = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    assert preview.exit_code == 0
    assert instructions.strip() in preview.stdout


def test_a_dry_run_without_a_model_says_so(tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    result = run_in_process("ingest", "--dry-run", "--json", folder=tmp_path)
    assert (result.exit_code, result.json["requests"], result.json["pending"]) == (0, [], 1)
    assert ["no model" in message for message in result.messages] == [True]
