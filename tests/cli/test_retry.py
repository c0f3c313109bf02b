"""`turnetl retry` tries quarantined turns again."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider, Fault

BAD_REQUEST = Fault(400, '{"error": {"message": "no such question"}}')


@pytest.mark.full
def test_a_group_with_only_quarantined_turns_left_is_tried_again(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    provider.faults += [BAD_REQUEST] * 20
    quarantined = run_in_process(
        "backfill", "a.jsonl", "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (
        quarantined.exit_code,
        quarantined.json["quarantined"],
        quarantined.json["pending"],
    ) == (3, 2, 0)
    provider.faults.clear()
    left = run_in_process("ingest", "--json", folder=tmp_path, **model_environment(provider))
    assert (left.exit_code, left.json["committed"]) == (3, 0)
    again = run_in_process("retry", "--json", folder=tmp_path, **model_environment(provider))
    assert (again.exit_code, again.json["committed"], again.json["quarantined"]) == (0, 2, 0)
    once_more = run_in_process("retry", "--json", folder=tmp_path, **model_environment(provider))
    assert (once_more.exit_code, once_more.json["committed"]) == (0, 0)


def test_a_dry_run_of_retry_prints_the_requests_of_a_quarantined_turn(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    provider.faults += [BAD_REQUEST] * 10
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    requests = len(provider.requests)
    dry = run_in_process(
        "retry", "--dry-run", "--json", folder=tmp_path, **model_environment(provider)
    )
    assert dry.json["requests"]
    assert (
        run_in_process(
            "ingest", "--dry-run", "--json", folder=tmp_path, **model_environment(provider)
        ).json["requests"]
        == []
    )
    assert len(provider.requests) == requests
