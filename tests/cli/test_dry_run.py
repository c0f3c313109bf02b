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
    environment, dry = model_environment(provider), ("--dry-run", "--json")
    backfill = run_in_process("backfill", "a.jsonl", *dry, folder=tmp_path, **environment).json
    preview = run_in_process("ingest", *dry, "--limit", "2", folder=tmp_path, **environment).json
    requests = run_in_process("ingest", *dry, folder=tmp_path, **environment).json["requests"]
    assert (provider.requests, backfill["pending"], preview["pending"]) == ([], 3, 3)
    assert not (tmp_path / ".turnetl" / "lake" / "journal.sqlite").exists()
    assert backfill["requests"] == requests == preview["requests"][: len(requests)]
    assert 0 < len(requests) < len(preview["requests"])
    done = run_in_process("backfill", "a.jsonl", "--json", folder=tmp_path, **environment).json
    assert (done["committed"], done["requests"], done["request_tokens"]) == (3, None, None)
    first = [message["text"] for message in requests[0]["messages"]]
    assert first in [[text for _, text in request.messages] for request in provider.requests]


def test_a_dry_run_prints_the_instructions_of_this_run_and_says_if_there_is_no_model(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    instructions = "Look at the colours, " * 20
    for command in (("backfill", "a.jsonl"), ("ingest",)):
        options = (*command, "--dry-run", "--preprocessing", instructions)
        preview = run_in_process(*options, folder=tmp_path, **model_environment(provider))
        assert preview.exit_code == 0
        assert instructions.strip() in preview.stdout
    result = run_in_process("ingest", "--dry-run", "--json", folder=tmp_path)
    assert (result.exit_code, result.json["requests"], result.json["pending"]) == (0, [], 1)
    assert ["no model" in message for message in result.messages] == [True]
