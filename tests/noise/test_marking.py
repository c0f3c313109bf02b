"""Marking, independently of the rules, and the selection of rules."""

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
from tests.scale import scaled
from turnetl import noise
from turnetl.base import schema
from turnetl.base.errors import BadUsage
from turnetl.base.model import ClosedBy, Turn
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
RESPONSES = ["", "Done.", "API Error: 529", "HEARTBEAT_OK", "A response of some length. " * 20]


@st.composite
def turns(draw: st.DrawFn) -> list[Turn]:
    """Up to a dozen turns of three sessions, with much in common."""
    return [
        turn(
            f"p{number}",
            user_text=draw(st.sampled_from(PROMPTS)),
            assistant_text=draw(st.sampled_from(RESPONSES)),
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
@settings(max_examples=scaled(60), deadline=None)
def test_marking_adds_a_column_and_changes_nothing_else(values: list[Turn]) -> None:
    frame = frames.turns(*values)
    result = noise.mark(frame).collect()
    assert result.columns == [*schema.TURNS.polars.names(), "noise"]
    assert result.drop("noise").equals(frame.collect())
    assert result["noise"].dtype == pl.String


@given(turns(), st.integers(0, len(RULES) - 1), st.sampled_from(PROMPTS))
@settings(max_examples=scaled(60), deadline=None)
def test_a_changed_rule_affects_only_turns_that_it_marked_or_marks(
    values: list[Turn], index: int, prompt: str
) -> None:
    frame = frames.turns(*values)
    other = replace(RULES[index], version=99, condition=pl.col("user_text") == prompt)
    rules = (*RULES[:index], other, *RULES[index + 1 :])
    before, after = marked(frame), marked(frame, rules)
    for value, was, now in zip(values, before, after, strict=True):
        if was != other.name and value.user_text != prompt:
            assert now == was


@given(turns())
@settings(max_examples=scaled(60), deadline=None)
def test_a_turn_that_got_work_done_is_a_copy_or_is_kept(values: list[Turn]) -> None:
    for value, mark in zip(values, marked(frames.turns(*values)), strict=True):
        assert mark in (None, "copy") or not (value.tool_calls or value.steering)


@pytest.mark.full
@given(turns())
@settings(max_examples=scaled(60), deadline=None)
def test_an_inactive_rule_marks_nothing_and_the_next_matching_rule_applies(
    values: list[Turn],
) -> None:
    frame = frames.turns(*values)
    for name in ("copy", "no_response"):
        without = marked(frame, noise.select_rules([name], []))
        assert name not in without
        for was, now in zip(marked(frame), without, strict=True):
            assert was in (name, now)


def test_all_turns_may_be_noise() -> None:
    values = [turn(f"p{n}", user_text="ok", assistant_text="ok.") for n in range(3)]
    assert None not in marked(frames.turns(*values))


def test_no_turns_give_no_marks() -> None:
    assert marked(frames.turns()) == []


def test_a_group_may_have_one_turn() -> None:
    assert marked(frames.turns(turn())) == [None]
    assert marked(frames.turns(turn(user_text="ok", assistant_text="Well."))) == ["acknowledgement"]


def test_no_rules_mark_nothing() -> None:
    assert marked(frames.turns(turn(user_text="ok")), ()) == [None]


@pytest.mark.full
def test_a_turn_of_five_megabytes_is_marked_like_any_other() -> None:
    long = "Mend the cart. " * 350_000
    assert marked(frames.turns(turn(user_text=long, assistant_text=""))) == [None]
    assert marked(frames.turns(turn(user_text="ok", assistant_text=long))) == [None]


def sample_turns() -> list[Turn]:
    return [
        turn("p0"),
        turn("p1", session_id="s2"),
        turn("p2", user_text="ok", assistant_text="Well.", started_at=START + timedelta(hours=1)),
        turn("p3", agent_id="a1", tool_calls=(tool("Bash", "ls"),), started_at=None),
    ]


def test_the_required_columns_are_sufficient() -> None:
    rules = (*RULES, *ON_DEMAND)
    frame = frames.turns(*sample_turns())
    columns = noise.required_columns(rules)
    assert "archive" not in columns
    assert marked(frame.select(columns), rules) == marked(frame, rules)


def test_the_names_of_tool_calls_are_sufficient_for_built_in_rules() -> None:
    frame = frames.turns(*sample_turns())
    name = pl.struct(pl.element().struct.field("name"))
    named = frame.with_columns(pl.col("tool_calls").list.eval(name))
    assert marked(named) == marked(frame)


def test_marking_calls_no_python() -> None:
    plan = noise.mark(frames.turns(*sample_turns()), (*RULES, *ON_DEMAND)).explain()
    assert "python" not in plan.lower()


@pytest.mark.parametrize("module", [machine_prompts, vocabulary])
def test_built_in_patterns_fit_the_size_limit(module: ModuleType) -> None:
    constants = {name: pattern for name, pattern in vars(module).items() if name.isupper()}
    assert constants
    for pattern in constants.values():
        pl.Series([""]).str.contains(f"(?:{pattern}\n){{8}}")


def test_recipes_contain_each_rule_and_its_version_in_order() -> None:
    recipes = noise.recipes(RULES)
    assert recipes == tuple(f"{rule.name}/{rule.version}" for rule in RULES)
    assert noise.recipes(RULES[1:]) == recipes[1:]


def user_rule(name: str, **fields: Any) -> noise.NoiseRule:
    return noise.NoiseRule(name, 1, "Mine.", pl.lit(value=True), **fields)


def test_rules_are_selected_in_their_order() -> None:
    names = [rule.name for rule in RULES]
    assert [rule.name for rule in noise.select_rules()] == names
    assert [
        rule.name for rule in noise.select_rules(["copy"], ["no_tool_calls"], [user_rule("mine")])
    ] == [
        *names[1:],
        "no_tool_calls",
        "mine",
    ]


def test_dropping_an_active_rule_changes_nothing() -> None:
    assert noise.select_rules([], ["copy"]) == noise.select_rules()
    assert noise.select_rules([], ["empty"]) == noise.select_rules()
    assert noise.select_rules(["no_tool_calls"], []) == noise.select_rules()


def test_user_rules_can_be_kept_and_dropped_by_name() -> None:
    rules = [user_rule("mine"), user_rule("yours", enabled_by_default=False)]
    assert [rule.name for rule in noise.select_rules([], [], rules)][-1] == "mine"
    assert [rule.name for rule in noise.select_rules(["mine"], ["yours"], rules)][-1] == "yours"


@pytest.mark.parametrize("given", [(["no_tools"], []), ([], ["no_tools"])])
def test_an_unknown_rule_name_is_rejected_with_the_known_names(
    given: tuple[list[str], list[str]],
) -> None:
    with pytest.raises(BadUsage) as raised:
        noise.select_rules(*given, [user_rule("mine")])
    for name in ("`no_tools`", "copy", "no_tool_calls", "mine"):
        assert name in str(raised.value)


def test_a_rule_cannot_be_both_kept_and_dropped() -> None:
    with pytest.raises(BadUsage, match="`copy` cannot be both"):
        noise.select_rules(["copy"], ["copy"])


def test_the_rule_for_empty_texts_has_a_name_and_cannot_be_disabled() -> None:
    assert noise.all_rules([user_rule("mine")])[-1] == noise.find_rule("empty") == noise.EMPTY
    with pytest.raises(BadUsage, match="`empty` cannot be disabled"):
        noise.select_rules(["empty"], [])
