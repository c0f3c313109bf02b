"""Turns that were set aside are tried again when asked for, wherever they stand."""

from pathlib import Path

from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider, Fault

POISON = Fault(400, '{"error": {"message": "no such question"}}')


def test_a_group_of_which_nothing_but_set_aside_turns_is_left_is_tried_again(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    provider.faults += [POISON] * 20
    aside = run_in_process(
        "backfill", "a.jsonl", "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (aside.exit_code, aside.json["quarantined"], aside.json["pending"]) == (3, 2, 0)
    provider.faults.clear()
    left = run_in_process("ingest", "--json", folder=tmp_path, **model_environment(provider))
    assert (left.exit_code, left.json["committed"]) == (3, 0)
    again = run_in_process("retry", "--json", folder=tmp_path, **model_environment(provider))
    assert (again.exit_code, again.json["committed"], again.json["quarantined"]) == (0, 2, 0)
    once_more = run_in_process("retry", "--json", folder=tmp_path, **model_environment(provider))
    assert (once_more.exit_code, once_more.json["committed"]) == (0, 0)


def test_a_dry_retry_shows_what_would_be_asked_of_a_turn_that_was_set_aside(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    provider.faults += [POISON] * 10
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    asked = len(provider.requests)
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
    assert len(provider.requests) == asked
