"""The explanation of a noise rule."""

from datetime import timedelta
from pathlib import Path

import polars as pl

from tests import frames
from tests.builders import START, turn
from turnetl.base.model import GroupId
from turnetl.episodes.filters import Filters
from turnetl.episodes.rule_examples import RuleExplanation, explain
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.noise import EMPTY, NoiseRule

LOUD = NoiseRule("loud", 1, "It is loud.", pl.col("user_text").str.contains("!"))
CURT = NoiseRule(
    "curt", 1, "It is short.", pl.col("user_text").str.len_chars() < 5, enabled_by_default=False
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


def explained(
    lake: Lake, rule: NoiseRule, *active: NoiseRule, examples: int = 5
) -> RuleExplanation:
    return explain(lake, lake.groups(), rule, Filters(rules=active), examples=examples)


def test_turns_are_counted_for_the_rule_alone_and_as_attributed_to_it(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!", "stop the press!", "ok")
    explanation = explained(Lake(tmp_path), LOUD, CURT, LOUD)
    assert explanation.active
    assert [(group.turns, group.attributed, group.chars) for group in explanation.groups] == [
        (2, 1, 192)
    ]
    off = explained(Lake(tmp_path), CURT, LOUD)
    assert not off.active
    assert [(group.turns, group.attributed) for group in off.groups] == [(2, 0)]


def test_an_equal_rule_counts_as_active(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!")
    again = NoiseRule(LOUD.name, LOUD.version, LOUD.description, LOUD.condition)
    assert explained(Lake(tmp_path), again, LOUD).active


def test_examples_have_different_prompts_and_come_from_all_groups(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!", "go!", "run!", "jump!")
    put(Lake(tmp_path), "zoo", "feed!")
    explanation = explained(Lake(tmp_path), LOUD, examples=3)
    assert [(example.group, example.prompt) for example in explanation.examples] == [
        ("shop", "go!"),
        ("zoo", "feed!"),
        ("shop", "run!"),
    ]
    assert explained(Lake(tmp_path), LOUD, examples=0).examples == ()


def test_a_turn_in_several_archives_is_counted_and_shown_once(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!")
    put(Lake(tmp_path), "shop", "go!", name="b.jsonl")
    assert explained(Lake(tmp_path), LOUD).groups[0].turns == 1


def test_excerpts_are_one_line_without_control_characters(tmp_path: Path) -> None:
    long = "\x1b[2Jgo!\r\n\tnow\x07 " + "and then " * 1_000
    put(Lake(tmp_path), "shop", long, assistant_text="", started_at=None)
    (example,) = explained(Lake(tmp_path), LOUD).examples
    assert example.prompt.startswith("[2Jgo! now and then and then")
    assert len(example.prompt) <= 400
    assert (example.response, example.started_at) == ("", None)


def test_explain_writes_nothing(tmp_path: Path) -> None:
    put(Lake(tmp_path), "shop", "go!")
    before = sorted(tmp_path.rglob("*"))
    explained(Lake(tmp_path), LOUD)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_rule_for_empty_texts_is_explained_from_the_rendered_text(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "shop", "", " \n!", "why?", assistant_text="")
    explanation = explain(lake, lake.groups(), EMPTY, Filters(rules=(LOUD,)))
    assert explanation.active
    assert [(group.turns, group.attributed) for group in explanation.groups] == [(1, 1)]
    assert [example.prompt for example in explanation.examples] == [""]
    put(lake, "zoo", "hm", assistant_text="Roar.")
    removing = Filters(rules=(), patterns=("Roar.",))
    assert [group.turns for group in explain(lake, lake.groups(), EMPTY, removing).groups] == [1, 0]
