"""Settings and options of extraction, as they reach the model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process, write_config
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.servers.canned_responses import Json
from tests.servers.provider import FakeProvider
from tests.servers.summary_responses import RESPONDERS


def request_count(provider: FakeProvider, text: str) -> int:
    """Return the number of requests that contain the text."""
    return sum(
        any(text in content for _, content in request.messages) for request in provider.requests
    )


def stale_reasons(result: CommandResult) -> dict[str, int]:
    reasons: dict[str, int] = result.json["groups"][0]["stale_reasons"]
    return reasons


@pytest.mark.full
def test_instructions_of_one_run_reach_the_model_and_make_turns_stale(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    once = ("backfill", "a.jsonl", "--preprocessing", "Look at the colours only.", "--json")
    done = run_in_process(*once, folder=tmp_path, **model_environment(provider))
    assert (done.exit_code, done.json["committed"]) == (0, 2)
    assert request_count(provider, "Look at the colours only.") >= 4
    status = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider))
    assert stale_reasons(status) == {"recipe_changed": 2}
    (part,) = status.json["groups"][0]["stale_parts"]
    assert (part["part"], part["name"], part["turns"]) == ("template", "default-session-turn.md", 2)
    shown = run_in_process(
        "status", "--verbose", folder=tmp_path, **model_environment(provider)
    ).stdout
    change = f"2 stale by template default-session-turn.md: {part['old'][:8]} -> {part['new'][:8]}"
    assert change in " ".join(shown.split())
    settings = {"EXTRACTION__PREPROCESSING_PROMPT": "Look at the colours only."}
    assert (
        stale_reasons(
            run_in_process(
                "status", "--json", folder=tmp_path, **model_environment(provider, **settings)
            )
        )
        == {}
    )


def test_a_word_for_none_disables_the_instructions(provider: FakeProvider, tmp_path: Path) -> None:
    """The other words: `tests/extraction/test_given_template.py`."""
    write_session(tmp_path / "a.jsonl", 1)
    once = ("backfill", "a.jsonl", "--preprocessing", "NULL")
    run_in_process(*once, folder=tmp_path, **model_environment(provider))
    assert len(provider.requests) > 0
    assert (request_count(provider, "## "), request_count(provider, "\nNULL\n")) == (0, 0)


@pytest.mark.full
def test_an_option_wins_over_the_setting_of_a_group(provider: FakeProvider, tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    of_group = {"preprocessing_prompt": "Say it of the group.", "reflexion": 0}
    write_config(tmp_path, extraction={"groups": {"shop": of_group}})
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    once = ("ingest", "--limit", "1", "--preprocessing", "Say it once.")
    run_in_process(*once, folder=tmp_path, **model_environment(provider))
    assert request_count(provider, "Say it of the group.") == 0
    assert request_count(provider, "Say it once.") > 0
    provider.requests.clear()
    run_in_process("ingest", folder=tmp_path, **model_environment(provider))
    assert request_count(provider, "Say it of the group.") > 0
    assert request_count(provider, "Say it once.") == 0


@pytest.mark.full
def test_a_changed_template_makes_turns_of_its_kind_stale_and_an_ingest_skips_them(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_archive(
        tmp_path / "a.jsonl",
        [
            *conversation("Please tell me how the shop works.", session="s1", at=SESSION_START),
            *conversation("It fails: the shop has an error.", session="s2", at=SESSION_START),
        ],
    )
    template = tmp_path / ".graphiti" / "templates" / "mine.md"
    template.parent.mkdir(parents=True)
    template.write_text("Look at the doors.")
    mine = model_environment(provider, EXTRACTION__KINDS__ERROR_HEAVY="mine.md")
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **mine)
    assert stale_reasons(run_in_process("status", "--json", folder=tmp_path, **mine)) == {}
    template.write_text("Look at the windows.")
    status = run_in_process("status", "--json", folder=tmp_path, **mine)
    assert stale_reasons(status) == {"recipe_changed": 1}
    again = run_in_process("ingest", "--json", folder=tmp_path, **mine)
    assert (again.json["committed"], again.json["already_committed"]) == (0, 2)


def test_an_invalid_option_or_template_stops_a_run_before_any_work(
    subtests: pytest.Subtests, provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    templates = tmp_path / ".graphiti" / "templates"
    templates.mkdir(parents=True)
    (templates / "mine.md").write_text("Look at the doors.")
    (templates / "blank.md").write_text(" \n")
    (templates / "broken.md").write_text("---\nname: broken\nLook.")
    options: tuple[tuple[dict[str, object], tuple[str, ...], str], ...] = (
        ({}, ("--preprocessing", "mien.md"), "`mine.md` exists"),
        ({}, ("--preprocessing", "blank.md"), "blank.md` is empty"),
        ({}, ("--preprocessing", "Look at README.md"), "read as a template's name"),
        ({}, ("--preprocessing", "mine"), "instructions are one word, `mine`"),
        ({"preprocessing_prompt": "broken.md"}, (), "broken.md`: line 1"),
        ({"kinds": {"error_heavy": "broken.md"}}, (), "broken.md`: line 1"),
    )
    for settings, arguments, reason in options:
        with subtests.test(settings=settings, arguments=arguments):
            write_config(tmp_path, extraction=settings)
            command = ("backfill", "a.jsonl", *arguments)
            result = run_in_process(*command, folder=tmp_path, **model_environment(provider))
            assert (result.exit_code, len(result.messages)) == (2, 1)
            assert reason in result.stderr
            assert provider.requests == []
            assert not (tmp_path / ".turnetl").exists()


@pytest.mark.full
def test_a_missing_ontology_stops_status_too(provider: FakeProvider, tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    for missing in ("gone.toml", "../gone.toml"):
        status = run_in_process(
            "status",
            "--verbose",
            folder=tmp_path,
            **model_environment(provider, EXTRACTION__ONTOLOGY=missing),
        )
        assert (status.exit_code, len(status.messages)) == (2, 1)
        assert f"no ontology `{missing}`" in status.stderr
    without = run_in_process(
        "status", "--verbose", folder=tmp_path, TURNETL_EXTRACTION__ONTOLOGY="gone.toml"
    )
    assert without.exit_code == 0


@pytest.mark.full
def test_reflexion_sends_its_hints_and_changes_the_recipe(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    missed = {field: _hint(field, "the lamp") for field in ("missed_entities", "missed_facts")}
    provider.responders = {**RESPONDERS, **missed}
    command = ("backfill", "a.jsonl", "--reflexion", "1", "--json")
    done = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    assert (done.exit_code, done.json["committed"]) == (0, 1)
    assert request_count(provider, "the lamp") == 2
    status = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider))
    assert stale_reasons(status) == {"recipe_changed": 1}


def test_an_invalid_value_is_a_usage_error(tmp_path: Path) -> None:
    for wrong in (("--reflexion", "4"), ("--budget", "5 euro"), ("--budget", "0")):
        result = run_in_process("ingest", *wrong, folder=tmp_path)
        assert (result.exit_code, len(result.messages)) == (2, 1), wrong


def _hint(field: str, hint: str) -> Callable[[str], Json]:
    return lambda _: {field: [hint]}
