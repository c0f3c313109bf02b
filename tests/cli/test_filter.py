"""`turnetl filter` and `turnetl rules`: which rules mark turns, and what that saves."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.archives import conversation, row, write_archive
from tests.cli.command import CommandResult, run_in_process, write_config
from turnetl import pipeline, wiring
from turnetl.settings import NoiseSettings, Settings

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OWN = """
[rules.lunch]
description = "Where to eat is no work."
user_text = "(?i)lunch"
"""


@pytest.fixture(scope="module")
def parsed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the parsed turns of the group `shop`, not filtered; it is read only."""
    folder = tmp_path_factory.mktemp("once")
    rows = [
        *turn_rows(0, "why does the till round down?", "It cuts cents off; I use round() now."),
        *turn_rows(1, "thanks", "You are welcome."),
        *turn_rows(2, "where do we go for lunch?", "I cannot know that, I am afraid."),
        *turn_rows(3, "ok", "Good."),
    ]
    archive = write_archive(folder / "till.jsonl", rows)
    assert run_in_process("parse", archive, folder=folder).exit_code == 0
    return folder


@pytest.fixture
def shop(parsed_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the parsed folder."""
    return shutil.copytree(parsed_folder, tmp_path / "shop")


def turn_rows(number: int, prompt: str, answer: str) -> list[str]:
    at = START + timedelta(minutes=number)
    return [
        row("user", prompt, f"u{number}", at),
        row("assistant", [{"type": "text", "text": answer}], f"a{number}", at),
    ]


def rule_by_prompt(folder: Path) -> dict[str, str | None]:
    """Return the rule that marks each turn, by the prompt of the turn."""
    table = pl.read_parquet(folder / ".turnetl/lake/episodes/shop.parquet")
    return dict(table.select("user_text", "noise").iter_rows())


def by_rule(result: CommandResult) -> dict[str, int]:
    assert result.exit_code == 0, result.stderr
    return {rule: counts["turns"] for rule, counts in result.json["noise"].items()}


def filtered(folder: Path, *arguments: str | Path, **environment: str) -> dict[str, int]:
    return by_rule(run_in_process("filter", *arguments, "--json", folder=folder, **environment))


def test_a_second_run_prints_the_same_and_that_nothing_is_new(shop: Path) -> None:
    first = run_in_process("filter", folder=shop).stdout
    again = run_in_process("filter", folder=shop).stdout
    assert "nothing new" not in first
    assert "nothing new" in again
    assert again.splitlines()[:-2] == first.splitlines()[:-2]


def test_a_kept_rule_marks_nothing_until_the_next_run_without_the_option(shop: Path) -> None:
    assert filtered(shop, "--disable-rule", "acknowledgement") == {}
    assert set(rule_by_prompt(shop).values()) == {None}
    assert filtered(shop) == {"acknowledgement": 2}
    # Changed settings make the tables outdated.
    keep = {"TURNETL_NOISE__DISABLE": "acknowledgement"}
    assert "run `turnetl filter`" in run_in_process("status", folder=shop, **keep).stderr


@pytest.mark.full
def test_tables_of_a_one_off_filter_are_ingested_as_they_are(shop: Path) -> None:
    run_in_process("filter", "--disable-rule", "acknowledgement", folder=shop)
    done = run_in_process("ingest", "--close-after", "0", "--json", folder=shop)
    assert (done.exit_code, done.json["committed"]) == (0, 4)


@pytest.mark.full
def test_backfill_takes_the_same_options(tmp_path: Path) -> None:
    archive = write_archive(
        tmp_path / "a.jsonl", conversation("thanks", "why does it round?", at=START)
    )
    arguments = ("backfill", archive, "--close-after", "0", "--json")
    result = run_in_process(*arguments, "--disable-rule", "acknowledgement", folder=tmp_path)
    assert result.json["committed"] == 2
    again = run_in_process(*arguments, folder=tmp_path).json
    assert again["committed"] == 0
    assert (again["groups"][0]["stale"], again["groups"][0]["stale_reasons"]) == (1, {"noise": 1})
    status = run_in_process("status", "--verbose", folder=tmp_path).stdout
    assert "1 stale, not ingested again: 1 noise" in " ".join(status.replace("│", " ").split())


def test_an_option_overrides_a_rule_of_the_settings(shop: Path) -> None:
    write_config(shop, turnetl={"noise": {"disable": ["repeat", "acknowledgement"]}})
    assert filtered(shop) == {}
    assert filtered(shop, "--enable-rule", "acknowledgement") == {"acknowledgement": 2}
    status = run_in_process("status", "--json", folder=shop).json
    assert status["groups"][0]["error"] is None


def test_a_user_defined_rule_marks_turns_and_can_be_explained(shop: Path) -> None:
    (shop / "own.toml").write_text(OWN)
    rules = ("--rules", "own.toml")
    assert filtered(shop, *rules) == {"acknowledgement": 2, "lunch": 1}
    assert rule_by_prompt(shop)["where do we go for lunch?"] == "lunch"
    assert filtered(shop, *rules, "--disable-rule", "lunch") == {"acknowledgement": 2}
    text = run_in_process("filter", *rules, "--explain", "lunch", folder=shop).stdout
    assert "Where to eat is no work." in text
    assert "where do we go for lunch?" in text
    rules = run_in_process("rules", *rules, "--json", folder=shop).json["rules"]
    assert [(rule["rule"], rule["active"]) for rule in rules if rule["user_defined"]] == [
        ("lunch", True)
    ]


def test_a_changed_user_defined_rule_is_applied(shop: Path) -> None:
    own = shop / "own.toml"
    settings = Settings(lake=shop / ".turnetl/lake", noise=NoiseSettings(rules=own))
    for word, rules in (("lunch", ["acknowledgement", "lunch"]), ("supper", ["acknowledgement"])):
        own.write_text(OWN.replace("(?i)lunch", word))
        (group,) = pipeline.filter_turns(settings).groups
        assert not group.unchanged
        assert [marked.rule for marked in group.noise] == rules


def explained(folder: Path, rule: str, *arguments: str) -> dict[str, Any]:
    return run_in_process("filter", "--explain", rule, *arguments, "--json", folder=folder).json


def test_an_explanation_has_counts_and_examples_and_writes_nothing(parsed_folder: Path) -> None:
    explanation = explained(parsed_folder, "acknowledgement", "--examples", "1")
    assert (explanation["active"], explanation["turns"], explanation["attributed"]) == (True, 2, 2)
    assert explanation["groups"] == [
        {"group": "shop", "turns": 2, "attributed": 2, "chars": explanation["chars"]},
    ]
    (example,) = explanation["examples"]
    assert (example["prompt"], example["response"]) == ("thanks", "You are welcome.")
    assert example["started_at"] == (START + timedelta(minutes=1)).isoformat()
    line = (parsed_folder / "till.jsonl").read_text().splitlines()[example["first_line"] - 1]
    assert "thanks" in line
    kept = explained(parsed_folder, "acknowledgement", "--disable-rule", "acknowledgement")
    assert (kept["active"], kept["turns"], kept["attributed"]) == (False, 2, 0)
    text = run_in_process("filter", "--explain", "acknowledgement", folder=parsed_folder).stdout
    assert "till.jsonl:3-4" in text
    assert "user: ok" in text
    assert not (parsed_folder / ".turnetl/lake/episodes").exists()


def test_a_rule_of_lower_precedence_is_explained_by_itself(shop: Path) -> None:
    own = write_archive(shop / "own.toml", [OWN.replace("(?i)lunch", ".")])
    settings = Settings(lake=shop / ".turnetl/lake", noise=NoiseSettings(rules=own))
    (group,) = pipeline.explain_rule(settings, "lunch").groups
    assert (group.turns, group.attributed) == (4, 2)


def test_the_rules_are_listed_as_a_table_and_as_json(parsed_folder: Path) -> None:
    rules = run_in_process("rules", "--disable-rule", "copy", "--json", folder=parsed_folder).json[
        "rules"
    ]
    assert {"copy", "repeat", "acknowledgement"} <= {rule["rule"] for rule in rules}
    assert next(rule["active"] for rule in rules if rule["rule"] == "copy") is False
    text = run_in_process("rules", folder=parsed_folder).stdout
    assert [rule["rule"] for rule in rules if rule["rule"] not in text] == []


def test_every_rule_can_be_explained(parsed_folder: Path) -> None:
    settings = Settings(lake=parsed_folder / ".turnetl/lake")
    for rule in wiring.noise_rules(settings):
        explanation = pipeline.explain_rule(settings, rule.name)
        assert (explanation.rule.description, explanation.active) == (
            rule.description,
            rule.enabled_by_default,
        )


def test_invalid_options_are_one_message_and_nothing_is_written(
    parsed_folder: Path, subtests: pytest.Subtests
) -> None:
    unreadable = {"TURNETL_NOISE__RULES": "nowhere.toml"}
    for arguments, environment, named in (
        (("filter", "--explain", "nonsense"), {}, ("`nonsense`", "acknowledgement")),
        (("filter", "--disable-rule", "nonsense"), {}, ("`nonsense`", "acknowledgement")),
        (("filter", "--enable-rule", "nonsense"), {}, ("`nonsense`", "acknowledgement")),
        (("filter",), unreadable, ("nowhere.toml",)),
        (("backfill", "till.jsonl"), unreadable, ("nowhere.toml",)),
        (("filter", "--group", "nobody"), {}, ("nobody",)),
        (("filter", "--examples", "3"), {}, ("--examples",)),
        (("filter", "--disable-rule"), {}, ("--disable-rule",)),
    ):
        with subtests.test(arguments=arguments):
            result = run_in_process(*arguments, folder=parsed_folder, **environment)
            assert (result.exit_code, len(result.messages)) == (2, 1)
            assert [text for text in named if text not in result.messages[0]] == []
            assert not (parsed_folder / ".turnetl/lake/episodes").exists()


def test_without_turns_the_command_says_what_to_do(tmp_path: Path) -> None:
    for arguments in ((), ("--explain", "copy")):
        result = run_in_process("filter", *arguments, "--lake", "none", folder=tmp_path)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "run `turnetl parse ARCHIVES`" in result.stdout
    assert not (tmp_path / "none").exists()


PATTERNS = """---
noise_patterns:
  - 'round\\(\\)'
---
Be brief.
"""


def test_patterns_of_a_template_apply_to_texts_and_a_change_renders_them_again(
    shop: Path,
) -> None:
    filtered(shop)
    assert "round()" in texts(shop)
    own = shop / ".graphiti/templates/default-session-turn.md"
    own.parent.mkdir(parents=True)
    own.write_text(PATTERNS)
    assert "run `turnetl filter`" in run_in_process("status", folder=shop).stderr
    filtered(shop)
    assert "round()" not in texts(shop)
    assert "why does the till round down?" in texts(shop)


def texts(folder: Path) -> str:
    table = pl.read_parquet(folder / ".turnetl/lake/episodes/shop.parquet")
    return "\n".join(table["text"])


def test_an_invalid_template_stops_the_run_and_is_named(shop: Path) -> None:
    (shop / ".graphiti/templates").mkdir(parents=True)
    (shop / ".graphiti/templates/own.md").write_text("---\nnoise_patterns: ['(']\n---\nBe brief.")
    own = {"TURNETL_EXTRACTION__PREPROCESSING_PROMPT": "own.md"}
    result = run_in_process("backfill", "till.jsonl", folder=shop, **own)
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert "templates/own.md" in result.messages[0]
    assert not (shop / ".turnetl/lake/episodes").exists()


@pytest.mark.full
def test_a_missing_template_is_reported_once(shop: Path) -> None:
    own = {
        "TURNETL_EXTRACTION__PREPROCESSING_PROMPT": "nowhere.md",
        "TURNETL_EXTRACTOR": "structural",
    }
    result = run_in_process("backfill", "till.jsonl", "--close-after", "0", folder=shop, **own)
    assert (result.exit_code, len(result.messages)) == (0, 1)
    assert "no template `nowhere.md`" in result.messages[0]


def test_pii_is_redacted_on_request_only(tmp_path: Path) -> None:
    mail = "ada.l@till-example.org"
    write_archive(
        tmp_path / "mail.jsonl", conversation(f"write to {mail} about the till", at=START)
    )

    def run(setting: str | None = None, *options: str) -> tuple[str, bool]:
        environment = {} if setting is None else {"TURNETL_REDACT_PII": setting}
        result = run_in_process(
            "parse", "mail.jsonl", *options, "--json", folder=tmp_path, **environment
        )
        (file,) = result.json["files"]
        (path,) = (tmp_path / ".turnetl/lake/turns/shop").glob("*.parquet")
        return file["outcome"], mail in pl.read_parquet(path)["user_text"][0]

    assert run() == ("new", True)
    assert run(None, "--redact-pii") == ("changed", False)
    assert run("1", "--no-redact-pii") == ("changed", True)
