"""Turns that were set aside are tried again when asked for, wherever they stand."""

from pathlib import Path

from tests.cli.command import here
from tests.cli.talks import archive, named
from tests.servers.provider import Fault, Provider

POISON = Fault(400, '{"error": {"message": "no such question"}}')


def test_a_group_of_which_nothing_but_set_aside_turns_is_left_is_tried_again(
    provider: Provider, tmp_path: Path
) -> None:
    archive(tmp_path / "a.jsonl", 2)
    provider.faults += [POISON] * 20
    aside = here("backfill", "a.jsonl", "--json", folder=tmp_path, **named(provider))
    assert (aside.code, aside.json["quarantined"], aside.json["pending"]) == (3, 2, 0)
    provider.faults.clear()
    left = here("ingest", "--json", folder=tmp_path, **named(provider))
    assert (left.code, left.json["committed"]) == (3, 0)
    again = here("retry", "--json", folder=tmp_path, **named(provider))
    assert (again.code, again.json["committed"], again.json["quarantined"]) == (0, 2, 0)
    once_more = here("retry", "--json", folder=tmp_path, **named(provider))
    assert (once_more.code, once_more.json["committed"]) == (0, 0)


def test_a_dry_retry_shows_what_would_be_asked_of_a_turn_that_was_set_aside(
    provider: Provider, tmp_path: Path
) -> None:
    archive(tmp_path / "a.jsonl", 1)
    provider.faults += [POISON] * 10
    here("backfill", "a.jsonl", folder=tmp_path, **named(provider))
    asked = len(provider.asked)
    dry = here("retry", "--dry-run", "--json", folder=tmp_path, **named(provider))
    assert dry.json["requests"]
    assert (
        here("ingest", "--dry-run", "--json", folder=tmp_path, **named(provider)).json["requests"]
        == []
    )
    assert len(provider.asked) == asked
