"""What a person says about extraction, for one run and for good, as the model hears it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.servers.canned_responses import RESPONDERS, Json
from tests.servers.provider import FakeProvider


def heard(provider: FakeProvider, words: str) -> int:
    """Return how many requests had the words in them."""
    return sum(any(words in text for _, text in asked.messages) for asked in provider.requests)


def stale(ran: CommandResult) -> dict[str, int]:
    why: dict[str, int] = ran.json["groups"][0]["stale_reasons"]
    return why


def test_instructions_said_for_one_run_reach_the_model_and_make_turns_stale(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    once = ("backfill", "a.jsonl", "--preprocessing", "Look at the colours only.", "--json")
    done = run_in_process(*once, folder=tmp_path, **model_environment(provider))
    assert (done.exit_code, done.json["committed"]) == (0, 2)
    assert heard(provider, "Look at the colours only.") >= 4
    said = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider))
    assert stale(said) == {"recipe_changed": 2}
    settings = {"EXTRACTION__PREPROCESSING_PROMPT": "Look at the colours only."}
    assert (
        stale(
            run_in_process(
                "status", "--json", folder=tmp_path, **model_environment(provider, **settings)
            )
        )
        == {}
    )


@pytest.mark.parametrize("word", ["none", "NULL", "false", "off"])
def test_a_run_without_instructions_says_none(
    word: str, provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process(
        "backfill",
        "a.jsonl",
        "--preprocessing",
        word,
        folder=tmp_path,
        **model_environment(provider),
    )
    with_none = len(provider.requests)
    assert with_none > 0
    assert (heard(provider, "## "), heard(provider, f"\n{word}\n")) == (0, 0)


def test_what_is_said_for_one_run_wins_over_what_is_said_of_a_group(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    config = tmp_path / "graphiti.config.json"
    of_group = {"preprocessing_prompt": "Say it of the group.", "reflexion": 0}
    config.write_text(json.dumps({"extraction": {"groups": {"shop": of_group}}}))
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    once = ("ingest", "--limit", "1", "--preprocessing", "Say it once.")
    run_in_process(*once, folder=tmp_path, **model_environment(provider))
    assert heard(provider, "Say it of the group.") == 0
    assert heard(provider, "Say it once.") > 0
    provider.requests.clear()
    run_in_process("ingest", folder=tmp_path, **model_environment(provider))
    assert heard(provider, "Say it of the group.") > 0
    assert heard(provider, "Say it once.") == 0


def test_a_changed_template_makes_turns_of_its_kind_stale_and_no_others(
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
    template.write_text("Look at the windows.")
    said = run_in_process("status", "--json", folder=tmp_path, **mine)
    assert stale(said) == {"recipe_changed": 1}
    assert said.json["groups"][0]["committed"] == 2


def test_a_changed_template_makes_turns_stale_and_says_so(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    template = tmp_path / ".graphiti" / "templates" / "mine.md"
    template.parent.mkdir(parents=True)
    template.write_text("Look at the doors.")
    mine = model_environment(provider, EXTRACTION__PREPROCESSING_PROMPT="mine.md")
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **mine)
    assert stale(run_in_process("status", "--json", folder=tmp_path, **mine)) == {}
    template.write_text("Look at the windows.")
    said = run_in_process("status", "--json", folder=tmp_path, **mine)
    assert sum(stale(said).values()) == 1
    again = run_in_process("ingest", "--json", folder=tmp_path, **mine)
    assert (again.json["committed"], again.json["skipped"]) == (0, 1)


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ("mien.md", "`mine.md` is there"),
        ("blank.md", "blank.md` is empty"),
        ("Look at README.md", "taken for a template's name"),
        ("mine", "instructions of one word, `mine`"),
    ],
)
def test_a_slip_in_what_is_said_for_one_run_stops_it_before_any_work(
    said: str, because: str, provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    templates = tmp_path / ".graphiti" / "templates"
    templates.mkdir(parents=True)
    (templates / "mine.md").write_text("Look at the doors.")
    (templates / "blank.md").write_text(" \n")
    ran = run_in_process(
        "backfill",
        "a.jsonl",
        "--preprocessing",
        said,
        folder=tmp_path,
        **model_environment(provider),
    )
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert because in ran.stderr
    assert provider.requests == []
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("of", ["preprocessing_prompt", "kinds"])
def test_a_broken_template_stops_a_run_before_any_work(
    of: str, provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    template = tmp_path / ".graphiti" / "templates" / "broken.md"
    template.parent.mkdir(parents=True)
    template.write_text("---\nname: broken\nLook.")
    said = {"preprocessing_prompt": "broken.md", "kinds": {"error_heavy": "broken.md"}}
    config = {"extraction": {of: said[of]}}
    (tmp_path / "graphiti.config.json").write_text(json.dumps(config))
    ran = run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert "broken.md`: line 1" in ran.stderr
    assert provider.requests == []


def test_an_ontology_that_cannot_be_used_stops_status_too_and_says_why(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    for gone in ("gone.toml", "../gone.toml"):
        said = run_in_process(
            "status", folder=tmp_path, **model_environment(provider, EXTRACTION__ONTOLOGY=gone)
        )
        assert (said.exit_code, len(said.messages)) == (2, 1)
        assert f"no ontology `{gone}`" in said.stderr
    without = run_in_process("status", folder=tmp_path, TURNETL_EXTRACTION__ONTOLOGY="gone.toml")
    assert without.exit_code == 0


def test_asking_what_was_missed_costs_calls_gives_hints_and_changes_the_recipe(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    missed = {field: _said(field, "the lamp") for field in ("missed_entities", "missed_facts")}
    provider.responders = {**RESPONDERS, **missed}
    command = ("backfill", "a.jsonl", "--reflexion", "1", "--json")
    done = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    assert (done.exit_code, done.json["committed"]) == (0, 1)
    assert heard(provider, "the lamp") == 2
    said = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider))
    assert stale(said) == {"recipe_changed": 1}


@pytest.mark.parametrize("wrong", [("--reflexion", "4"), ("--budget", "5 euro"), ("--budget", "0")])
def test_what_makes_no_sense_is_wrong_usage(wrong: tuple[str, str], tmp_path: Path) -> None:
    ran = run_in_process("ingest", *wrong, folder=tmp_path)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)


def _said(field: str, hint: str) -> Callable[[str], Json]:
    return lambda _: {field: [hint]}
