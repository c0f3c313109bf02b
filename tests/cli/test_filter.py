"""The filter as a person runs it: which rules mark, what that saves, and what they see of it."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.archives import conversation, row, write_archive
from tests.cli.command import CommandResult, run_in_process, turnetl_process
from turnetl import pipeline, wiring
from turnetl.settings import NoiseSettings, Settings

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OWN = """
[rules.lunch]
why = "Where to eat is no work."
user_text = "(?i)lunch"
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the turns of a group `shop`, read but not filtered; nothing writes to it."""
    folder = tmp_path_factory.mktemp("once")
    rows = [
        *said(0, "why does the till round down?", "It cuts cents off; I use round() now."),
        *said(1, "thanks", "You are welcome."),
        *said(2, "where do we go for lunch?", "I cannot know that, I am afraid."),
        *said(3, "ok", "Good."),
    ]
    archive = write_archive(folder / "till.jsonl", rows)
    assert run_in_process("parse", archive, folder=folder).exit_code == 0
    return folder


@pytest.fixture
def shop(once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(once, tmp_path / "shop")


def said(number: int, prompt: str, answer: str) -> list[str]:
    at = START + timedelta(minutes=number)
    return [
        row("user", prompt, f"u{number}", at),
        row("assistant", [{"type": "text", "text": answer}], f"a{number}", at),
    ]


def noise(folder: Path) -> dict[str, str | None]:
    """Return the rule that speaks against each turn, by its prompt."""
    table = pl.read_parquet(folder / "data/lake/episodes/shop.parquet")
    return dict(table.select("user_text", "noise").iter_rows())


def by_rule(ran: CommandResult) -> dict[str, int]:
    assert ran.exit_code == 0, ran.stderr
    return {rule: of["turns"] for rule, of in ran.json["noise"].items()}


def filtered(folder: Path, *arguments: str | Path, **environment: str) -> dict[str, int]:
    return by_rule(run_in_process("filter", *arguments, "--json", folder=folder, **environment))


def test_what_is_marked_and_what_is_saved_is_said_for_each_group_and_rule(shop: Path) -> None:
    told = turnetl_process("filter", "--json", folder=shop).json
    (group,) = told["groups"]
    assert group["noise"]["acknowledgement"]["turns"] == 2
    assert group["kept"]["turns"] == 2
    assert group["turns"] == told["turns"] == 4
    assert group["tokens_saved"] == told["tokens_saved"]
    assert set(group["kept"]) == {
        "turns", "chars_before", "chars_after", "tokens", "tokens_saved"
    }  # fmt: skip


def test_a_second_run_says_that_nothing_is_new_and_shows_the_same(shop: Path) -> None:
    first = turnetl_process("filter", folder=shop).stdout
    again = turnetl_process("filter", folder=shop).stdout
    assert "nothing new" not in first
    assert "nothing new" in again
    assert again.splitlines()[:-2] == first.splitlines()[:-2]


def test_a_rule_that_is_kept_marks_nothing_until_the_next_run_without_it(shop: Path) -> None:
    assert filtered(shop, "--keep", "acknowledgement") == {}
    assert set(noise(shop).values()) == {None}
    assert filtered(shop) == {"acknowledgement": 2}


def test_what_was_filtered_by_hand_is_ingested_as_it_is(shop: Path) -> None:
    run_in_process("filter", "--keep", "acknowledgement", folder=shop)
    done = run_in_process("ingest", "--quiet", "0", "--json", folder=shop)
    assert (done.exit_code, done.json["committed"]) == (0, 4)


def test_a_backfill_takes_the_same_words(tmp_path: Path) -> None:
    archive = write_archive(
        tmp_path / "a.jsonl", conversation("thanks", "why does it round?", at=START)
    )
    words = ("backfill", archive, "--quiet", "0", "--json")
    kept = run_in_process(*words, "--keep", "acknowledgement", folder=tmp_path)
    assert kept.json["committed"] == 2
    again = run_in_process(*words, folder=tmp_path).json
    assert again["committed"] == 0
    assert (again["groups"][0]["stale"], again["groups"][0]["stale_reasons"]) == (1, {"noise": 1})
    status = run_in_process("status", folder=tmp_path).stdout
    assert "1 stale, not ingested again: 1 noise" in " ".join(status.replace("│", " ").split())


def test_what_the_settings_keep_stays_kept_and_the_command_line_may_take_it_back(
    shop: Path,
) -> None:
    config = {"turnetl": {"noise": {"keep": ["repeat", "acknowledgement"]}}}
    (shop / "graphiti.config.json").write_text(json.dumps(config))
    assert filtered(shop) == {}
    assert filtered(shop, "--drop", "acknowledgement") == {"acknowledgement": 2}
    status = run_in_process("status", "--json", folder=shop).json
    assert status["groups"][0]["error"] is None


def test_settings_that_changed_make_the_tables_outdated(shop: Path) -> None:
    filtered(shop)
    keep = {"TURNETL_NOISE__KEEP": "acknowledgement"}
    status = run_in_process("status", folder=shop, **keep)
    assert "run `turnetl filter`" in status.stderr


def test_a_rule_of_ones_own_marks_and_explains_itself(shop: Path) -> None:
    (shop / "own.toml").write_text(OWN)
    rules = ("--rules", "own.toml")
    assert filtered(shop, *rules) == {"acknowledgement": 2, "lunch": 1}
    assert noise(shop)["where do we go for lunch?"] == "lunch"
    assert filtered(shop, *rules, "--keep", "lunch") == {"acknowledgement": 2}
    shown = run_in_process("filter", *rules, "--explain", "lunch", folder=shop).stdout
    assert "Where to eat is no work." in shown
    assert "where do we go for lunch?" in shown
    listed = run_in_process("rules", *rules, "--json", folder=shop).json["rules"]
    assert [(of["rule"], of["active"]) for of in listed if of["user_defined"]] == [("lunch", True)]


def test_a_changed_rule_of_ones_own_is_applied(shop: Path) -> None:
    own = shop / "own.toml"
    settings = Settings(lake=shop / "data/lake", noise=NoiseSettings(rules=own))
    for word, rules in (("lunch", ["acknowledgement", "lunch"]), ("supper", ["acknowledgement"])):
        own.write_text(OWN.replace("(?i)lunch", word))
        (group,) = pipeline.filter_turns(settings).groups
        assert not group.skipped
        assert [marked.rule for marked in group.noise] == rules


def explained(folder: Path, rule: str, *arguments: str) -> dict[str, Any]:
    return run_in_process("filter", "--explain", rule, *arguments, "--json", folder=folder).json


def test_an_explanation_counts_and_shows_where_and_writes_nothing(once: Path) -> None:
    told = explained(once, "acknowledgement", "--examples", "1")
    assert (told["active"], told["turns"], told["attributed"]) == (True, 2, 2)
    assert told["groups"] == [
        {"group": "shop", "turns": 2, "attributed": 2, "chars": told["chars"]},
    ]
    (example,) = told["examples"]
    assert (example["prompt"], example["response"]) == ("thanks", "You are welcome.")
    assert example["started_at"] == (START + timedelta(minutes=1)).isoformat()
    line = (once / "till.jsonl").read_text().splitlines()[example["first_line"] - 1]
    assert "thanks" in line
    shown = run_in_process("filter", "--explain", "acknowledgement", folder=once).stdout
    assert "till.jsonl:3-4" in shown
    assert "user: ok" in shown
    assert not (once / "data/lake/episodes").exists()


def test_a_rule_that_is_kept_is_explained_by_what_it_would_mark(once: Path) -> None:
    told = explained(once, "acknowledgement", "--keep", "acknowledgement")
    assert (told["active"], told["turns"], told["attributed"]) == (False, 2, 0)


def test_a_rule_that_another_one_forestalls_is_explained_by_itself(shop: Path) -> None:
    own = write_archive(shop / "own.toml", [OWN.replace("(?i)lunch", ".")])
    settings = Settings(lake=shop / "data/lake", noise=NoiseSettings(rules=own))
    (group,) = pipeline.explain_rule(settings, "lunch").groups
    assert (group.turns, group.attributed) == (4, 2)


def test_the_rules_are_listed_for_people_and_programs(once: Path) -> None:
    listed = run_in_process("rules", "--keep", "copy", "--json", folder=once).json["rules"]
    assert {"copy", "repeat", "acknowledgement"} <= {of["rule"] for of in listed}
    assert next(of["active"] for of in listed if of["rule"] == "copy") is False
    shown = run_in_process("rules", folder=once).stdout
    assert [of["rule"] for of in listed if of["rule"] not in shown] == []


def test_every_rule_that_is_listed_can_be_explained(once: Path) -> None:
    settings = Settings(lake=once / "data/lake")
    for rule in wiring.noise_rules(settings):
        told = pipeline.explain_rule(settings, rule.name)
        assert (told.rule.why, told.active) == (rule.why, rule.on_by_default)


@pytest.mark.parametrize("option", ["--explain", "--keep", "--drop"])
def test_a_rule_that_is_not_there_is_refused_with_those_that_are(option: str, once: Path) -> None:
    ran = run_in_process("filter", option, "nonsense", folder=once)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert "`nonsense`" in ran.messages[0]
    assert "acknowledgement" in ran.messages[0]
    assert not (once / "data/lake/episodes").exists()


@pytest.mark.parametrize("command", [("filter",), ("backfill", "till.jsonl")])
def test_rules_that_cannot_be_read_stop_every_command_before_its_work(
    command: tuple[str, ...], once: Path
) -> None:
    ran = run_in_process(*command, folder=once, TURNETL_NOISE__RULES="nowhere.toml")
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert "nowhere.toml" in ran.messages[0]
    assert not (once / "data/lake/episodes").exists()


@pytest.mark.parametrize("wrong", [("--group", "nobody"), ("--examples", "3"), ("--keep",)])
def test_words_that_make_no_sense_are_one_sentence(wrong: tuple[str, ...], once: Path) -> None:
    ran = run_in_process("filter", *wrong, folder=once)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)


def test_without_turns_both_say_what_to_do(tmp_path: Path) -> None:
    for words in ((), ("--explain", "copy")):
        ran = run_in_process("filter", *words, "--lake", "none", folder=tmp_path)
        assert (ran.exit_code, ran.stderr) == (0, "")
        assert "run `turnetl parse ARCHIVES`" in ran.stdout
    assert not (tmp_path / "none").exists()


PATTERNS = """---
noise_patterns:
  - 'round\\(\\)'
---
Be brief.
"""


def test_the_patterns_of_a_template_act_in_the_texts_and_a_change_makes_them_anew(
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
    table = pl.read_parquet(folder / "data/lake/episodes/shop.parquet")
    return "\n".join(table["text"])


def test_a_slip_in_a_template_stops_the_run_and_names_the_file(shop: Path) -> None:
    (shop / ".graphiti/templates").mkdir(parents=True)
    (shop / ".graphiti/templates/own.md").write_text("---\nnoise_patterns: ['(']\n---\nBe brief.")
    own = {"TURNETL_EXTRACTION__PREPROCESSING_PROMPT": "own.md"}
    ran = run_in_process("backfill", "till.jsonl", folder=shop, **own)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert "templates/own.md" in ran.messages[0]
    assert not (shop / "data/lake/episodes").exists()


def test_a_template_that_is_not_there_is_told_once(shop: Path) -> None:
    own = {"TURNETL_EXTRACTION__PREPROCESSING_PROMPT": "nowhere.md"}
    ran = run_in_process("backfill", "till.jsonl", "--quiet", "0", folder=shop, **own)
    assert (ran.exit_code, len(ran.messages)) == (0, 1)
    assert "no template `nowhere.md`" in ran.messages[0]


def test_personal_data_is_cut_out_when_asked_for_and_comes_back_when_not(tmp_path: Path) -> None:
    mail = "ada.l@till-example.org"
    write_archive(
        tmp_path / "mail.jsonl", conversation(f"write to {mail} about the till", at=START)
    )

    def run(said: str | None = None, *words: str) -> tuple[str, bool]:
        environment = {} if said is None else {"TURNETL_REDACT_PII": said}
        ran = run_in_process(
            "parse", "mail.jsonl", *words, "--json", folder=tmp_path, **environment
        )
        (file,) = ran.json["files"]
        (path,) = (tmp_path / "data/lake/turns/shop").glob("*.parquet")
        return file["outcome"], mail in pl.read_parquet(path)["user_text"][0]

    assert run() == ("new", True)
    assert run(None, "--redact-pii") == ("changed", False)
    assert run("1", "--no-redact-pii") == ("changed", True)
