"""Marking as such, whatever the rules are, and the choice of rules."""

from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import frames
from tests.builders import START, tool, turn
from turnetl import noise, schema
from turnetl.errors import BadUsage
from turnetl.model import ClosedBy, Turn
from turnetl.noise import ON_DEMAND, RULES, machine_prompts, vocabulary

PROMPTS = [
    "ok",
    "",
    "hi",
    "/clear",
    "Warmup",
    "Mend the cart",
    "no, use postgres",
    "?",
    "👍",
    "x" * 5000,
]
ANSWERS = ["", "Done.", "API Error: 529", "HEARTBEAT_OK", "An answer of some length. " * 20]


@st.composite
def turns(draw: st.DrawFn) -> list[Turn]:
    """Up to a dozen turns of three sessions, with much in common."""
    return [
        turn(
            f"p{number}",
            user_text=draw(st.sampled_from(PROMPTS)),
            assistant_text=draw(st.sampled_from(ANSWERS)),
            session_id=draw(st.sampled_from(["s1", "s2", "s3"])),
            started_at=draw(st.sampled_from([None, START, START + timedelta(minutes=number)])),
            closed_by=draw(st.sampled_from([None, *ClosedBy])),
            closed=draw(st.booleans()),
            agent_id=draw(st.sampled_from([None, "a1"])),
            tool_calls=draw(st.sampled_from([(), (tool("Bash", "ls"),)])),
            steering=draw(st.sampled_from([(), ("no",)])),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


def marked(frame: pl.LazyFrame, rules: tuple[noise.NoiseRule, ...] = RULES) -> list[str | None]:
    return noise.mark(frame, rules).collect()["noise"].to_list()


@given(turns())
@settings(max_examples=60, deadline=None)
def test_marking_adds_a_column_and_changes_nothing_else(of: list[Turn]) -> None:
    frame = frames.turns(*of)
    made = noise.mark(frame).collect()
    assert made.columns == [*schema.TURNS.polars.names(), "noise"]
    assert made.drop("noise").equals(frame.collect())
    assert made["noise"].dtype == pl.String


@given(turns(), st.integers(0, len(RULES) - 1), st.sampled_from(PROMPTS))
@settings(max_examples=60, deadline=None)
def test_a_changed_rule_touches_only_what_it_marked_or_marks(
    of: list[Turn], which: int, prompt: str
) -> None:
    frame = frames.turns(*of)
    other = replace(RULES[which], version=99, condition=pl.col("user_text") == prompt)
    rules = (*RULES[:which], other, *RULES[which + 1 :])
    before, after = marked(frame), marked(frame, rules)
    for one, was, now in zip(of, before, after, strict=True):
        if was != other.name and one.user_text != prompt:
            assert now == was


@given(turns())
@settings(max_examples=60, deadline=None)
def test_what_got_work_done_is_a_copy_or_is_kept(of: list[Turn]) -> None:
    for one, mark in zip(of, marked(frames.turns(*of)), strict=True):
        assert mark in (None, "copy") or not (one.tool_calls or one.steering)


@given(turns())
@settings(max_examples=60, deadline=None)
def test_a_rule_that_is_left_out_marks_nothing_and_gives_way_to_the_next(of: list[Turn]) -> None:
    frame = frames.turns(*of)
    for name in ("copy", "no_answer"):
        without = marked(frame, noise.select_rules([name], []))
        assert name not in without
        for was, now in zip(marked(frame), without, strict=True):
            assert was in (name, now)


def test_all_may_be_noise() -> None:
    nothing = [turn(f"p{n}", user_text="ok", assistant_text="ok.") for n in range(3)]
    assert None not in marked(frames.turns(*nothing))


def test_no_turns_give_no_marks() -> None:
    assert marked(frames.turns()) == []


def test_a_group_may_have_one_turn() -> None:
    assert marked(frames.turns(turn())) == [None]
    assert marked(frames.turns(turn(user_text="ok", assistant_text="Well."))) == ["acknowledgement"]


def test_no_rules_mark_nothing() -> None:
    assert marked(frames.turns(turn(user_text="ok")), ()) == [None]


def test_a_turn_of_five_megabytes_is_marked_like_any_other() -> None:
    long = "Mend the cart. " * 350_000
    assert marked(frames.turns(turn(user_text=long, assistant_text=""))) == [None]
    assert marked(frames.turns(turn(user_text="ok", assistant_text=long))) == [None]


def several() -> list[Turn]:
    return [
        turn("p0"),
        turn("p1", session_id="s2"),
        turn("p2", user_text="ok", assistant_text="Well.", started_at=START + timedelta(hours=1)),
        turn("p3", agent_id="a1", tool_calls=(tool("Bash", "ls"),), started_at=None),
    ]


def test_the_columns_that_are_named_are_enough() -> None:
    rules = (*RULES, *ON_DEMAND)
    frame = frames.turns(*several())
    read = noise.required_columns(rules)
    assert "archive" not in read
    assert marked(frame.select(read), rules) == marked(frame, rules)


def test_of_calls_and_texts_it_is_enough_to_know_how_many_there_are() -> None:
    frame = frames.turns(*several())
    counted = frame.with_columns(pl.col("tool_calls").list.eval(pl.lit(value=True)))
    assert marked(counted) == marked(frame)


def test_marking_is_left_to_polars() -> None:
    plan = noise.mark(frames.turns(*several()), (*RULES, *ON_DEMAND)).explain()
    assert "python" not in plan.lower()


@pytest.mark.parametrize("of", [machine_prompts, vocabulary])
def test_patterns_that_turnetl_brings_are_small_as_well(of: ModuleType) -> None:
    named = {name: pattern for name, pattern in vars(of).items() if name.isupper()}
    assert named
    for pattern in named.values():
        pl.Series([""]).str.contains(f"(?:{pattern}\n){{8}}")


def test_recipes_tell_each_rule_and_its_version_in_order() -> None:
    recipes = noise.recipes(RULES)
    assert recipes == tuple(f"{rule.name}/{rule.version}" for rule in RULES)
    assert noise.recipes(RULES[1:]) == recipes[1:]


def own(name: str, **fields: Any) -> noise.NoiseRule:
    return noise.NoiseRule(name, 1, "Mine.", pl.lit(value=True), **fields)


def test_rules_are_chosen_in_their_order() -> None:
    names = [rule.name for rule in RULES]
    assert [rule.name for rule in noise.select_rules()] == names
    assert [rule.name for rule in noise.select_rules(["copy"], ["talk"], [own("mine")])] == [
        *names[1:],
        "talk",
        "mine",
    ]


def test_dropping_what_is_dropped_anyway_changes_nothing() -> None:
    assert noise.select_rules([], ["copy"]) == noise.select_rules()
    assert noise.select_rules([], ["empty"]) == noise.select_rules()
    assert noise.select_rules(["talk"], []) == noise.select_rules()


def test_own_rules_can_be_kept_and_dropped_by_name() -> None:
    rules = [own("mine"), own("yours", on_by_default=False)]
    assert [rule.name for rule in noise.select_rules([], [], rules)][-1] == "mine"
    assert [rule.name for rule in noise.select_rules(["mine"], ["yours"], rules)][-1] == "yours"


@pytest.mark.parametrize("given", [(["talks"], []), ([], ["talks"])])
def test_a_name_that_no_rule_has_is_refused_with_those_there_are(
    given: tuple[list[str], list[str]],
) -> None:
    with pytest.raises(BadUsage) as refused:
        noise.select_rules(*given, [own("mine")])
    for name in ("`talks`", "copy", "talk", "mine"):
        assert name in str(refused.value)


def test_a_rule_cannot_be_both_kept_and_dropped() -> None:
    with pytest.raises(BadUsage, match="`copy` cannot be both"):
        noise.select_rules(["copy"], ["copy"])


def test_the_rule_of_empty_texts_is_known_by_name_and_cannot_be_kept() -> None:
    assert noise.all_rules([own("mine")])[-1] == noise.find_rule("empty") == noise.EMPTY
    with pytest.raises(BadUsage, match="`empty` is always on"):
        noise.select_rules(["empty"], [])
