"""What a person is shown of a rule."""

from datetime import timedelta
from pathlib import Path

import polars as pl

from tests import frames
from tests.builders import START, turn
from turnetl.episodes.filters import Filters
from turnetl.episodes.rule_examples import RuleExplanation, explain
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.model import GroupId
from turnetl.noise import EMPTY, NoiseRule

SHOUTS = NoiseRule("shouts", 1, "It is loud.", pl.col("user_text").str.contains("!"))
CURT = NoiseRule(
    "curt", 1, "It is short.", pl.col("user_text").str.len_chars() < 5, on_by_default=False
)


def put(lake: Lake, group: str, *prompts: str, name: str = "a.jsonl", **fields: object) -> None:
    origin = ArchiveMetadata(
        name + group, 1, 1, group, "claude_code", 1, "1", GroupId(group), False, {}
    )
    turns = [
        turn(
            f"{group}-{prompt}-{number}",
            **{"group_id": GroupId(group), "user_text": prompt, "archive": name}
            | {"started_at": START + timedelta(minutes=number), "session_id": f"s-{group}"}
            | fields,
        )
        for number, prompt in enumerate(prompts)
    ]
    lake.write_turns(frames.turns(*turns).collect(), origin)


def shown(lake: Lake, rule: NoiseRule, *today: NoiseRule, examples: int = 5) -> RuleExplanation:
    return explain(lake, lake.groups(), rule, Filters(rules=today), examples=examples)


def test_a_rule_is_counted_by_itself_and_by_the_turns_that_bear_its_name(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!", "stop the press!", "ok")
    told = shown(Lake(tmp_path), SHOUTS, CURT, SHOUTS)
    assert told.active
    assert [(of.turns, of.attributed, of.chars) for of in told.groups] == [(2, 1, 192)]
    off = shown(Lake(tmp_path), CURT, SHOUTS)
    assert not off.active
    assert [(of.turns, of.attributed) for of in off.groups] == [(2, 0)]


def test_a_rule_read_a_second_time_is_the_same_rule(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!")
    again = NoiseRule(SHOUTS.name, SHOUTS.version, SHOUTS.why, SHOUTS.condition)
    assert shown(Lake(tmp_path), again, SHOUTS).active


def test_examples_are_of_different_prompts_and_of_all_groups(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!", "go!", "run!", "jump!")
    put(Lake(tmp_path), "zoo", "feed!")
    told = shown(Lake(tmp_path), SHOUTS, examples=3)
    assert [(of.group, of.prompt) for of in told.examples] == [
        ("shop", "go!"),
        ("zoo", "feed!"),
        ("shop", "run!"),
    ]
    assert shown(Lake(tmp_path), SHOUTS, examples=0).examples == ()


def test_a_turn_of_several_archives_is_counted_and_shown_once(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!")
    put(Lake(tmp_path), "shop", "go!", name="b.jsonl")
    assert shown(Lake(tmp_path), SHOUTS).groups[0].turns == 1


def test_first_words_are_one_line_without_what_moves_a_terminal(tmp_path: Path) -> None:
    long = "\x1b[2Jgo!\r\n\tnow\x07 " + "and then " * 1_000
    put(Lake(tmp_path), "shop", long, assistant_text="", started_at=None)
    (example,) = shown(Lake(tmp_path), SHOUTS).examples
    assert example.prompt.startswith("[2Jgo! now and then and then")
    assert len(example.prompt) <= 400
    assert (example.answer, example.started_at) == ("", None)


def test_an_explanation_writes_nothing(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!")
    before = sorted(tmp_path.rglob("*"))
    shown(Lake(tmp_path), SHOUTS)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_rule_of_empty_texts_is_explained_by_what_is_rendered(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "shop", "", " \n!", "why?", assistant_text="")
    told = explain(lake, lake.groups(), EMPTY, Filters(rules=(SHOUTS,)))
    assert told.active
    assert [(of.turns, of.attributed) for of in told.groups] == [(1, 1)]
    assert [one.prompt for one in told.examples] == [""]
    put(lake, "zoo", "hm", assistant_text="Roar.")
    left_out = Filters(rules=(), patterns=("Roar.",))
    assert [of.turns for of in explain(lake, lake.groups(), EMPTY, left_out).groups] == [1, 0]
