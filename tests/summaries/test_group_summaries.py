"""The summaries of a group over its turns, in one run or in several."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact, minutes, vector
from tests.summaries.group_turns import LIMITS, NAMES, Group, changes, failures, histories
from turnetl.base.model import Entity, Fact, GroupId, TurnId
from turnetl.summaries.group_summaries import GroupSummaries
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.records import RecordedSummaries, replay
from turnetl.summaries.rule_summary import rule_summary


@given(histories, st.sets(st.integers(0, 9)), failures)
def test_one_run_or_many_runs_decide_alike_and_write_the_same(
    history: Sequence[tuple[Fact, datetime]],
    starts: set[int],
    failing: frozenset[tuple[int, str]],
) -> None:
    one, many = Group(failing=failing), Group(failing=failing)
    summaries = one.load()
    restarted = many.load()
    for number, turn in enumerate(history):
        if number in starts:
            restarted = many.load()
        one.turn(summaries, turn)
        many.turn(restarted, turn)
        assert restarted.unwritten() == summaries.unwritten()
    assert many == one


@given(histories, failures, st.integers(0, 10))
def test_without_its_latest_turns_a_group_decides_as_it_did_before_them(
    history: Sequence[tuple[Fact, datetime]], failing: frozenset[tuple[int, str]], kept: int
) -> None:
    group, shorter = Group(failing=failing), Group(failing=failing)
    for played, turns in [(group, history), (shorter, history[:kept])]:
        summaries = played.load()
        for turn in turns:
            played.turn(summaries, turn)
    remaining = RecordedSummaries({TurnId(f"t{n}"): one for n, one in enumerate(group.records)})
    for number in reversed(range(len(shorter.records), len(history))):
        remaining.undo(TurnId(f"t{number}"), ())
    assert [*remaining.records.values()] == shorter.records


@given(histories, failures)
def test_the_next_attempt_knows_all_that_changed_since_the_last_text(
    history: Sequence[tuple[Fact, datetime]], failing: frozenset[tuple[int, str]]
) -> None:
    group = Group(failing=failing)
    summaries = group.load()
    stated: dict[str, set[Statement]] = {name: set() for name in NAMES}
    for number, (told, at) in enumerate(history):
        # A fact neither moves to other entities nor says something else later.
        uuid = f"{told.uuid} {told.target} {told.text}"
        group.turn(summaries, (replace(told, uuid=uuid), at))
        for given_ in group.plans[-1].inputs:
            entity, active = given_.entity.uuid, statements(given_.facts)
            new = statements(fact for fact in given_.facts if fact.uuid in given_.new)
            # What the summary states, and no longer holds; of what it does not state, the new.
            assert stated[entity] - active <= statements(given_.invalidated)
            assert active - stated[entity] <= new
            if (number, entity) not in failing:
                stated[entity] = active


Statement = tuple[str, str]


def statements(facts: Iterable[Fact]) -> set[Statement]:
    return {(fact.target, fact.text) for fact in facts}


@given(histories)
def test_a_turn_that_is_planned_and_not_committed_changes_nothing(
    history: Sequence[tuple[Fact, datetime]],
) -> None:
    group = Group()
    summaries = group.load()
    for told, at in history:
        failed = changes(facts=(replace(told, uuid="failed", text="fails"),), mentions=NAMES)
        first = summaries.plan(failed, at)
        assert summaries.plan(failed, at) == first
        group.turn(summaries, (told, at))
    undisturbed = Group()
    once = undisturbed.load()
    for turn in history:
        undisturbed.turn(once, turn)
    assert group == undisturbed


@given(histories)
def test_an_entity_has_the_summary_that_the_records_say(
    history: Sequence[tuple[Fact, datetime]],
) -> None:
    group = Group()
    summaries = group.load()
    for turn in history:
        group.turn(summaries, turn)
    recorded = replay(group.records)
    assert all(
        entity.summary == recorded[uuid].shown and not summaries.is_edited(uuid)
        for uuid, entity in group.entities.items()
    )


def test_a_summary_that_was_edited_by_hand_is_kept_also_by_the_next_run() -> None:
    group = Group()
    group.turn(group.load(), (fact("f1"), START))
    group.entities["parser"] = replace(group.entities["parser"], summary="My own words.")
    summaries = group.load()
    for number in (1, 2):
        different = fact(f"g{number}", f"it says {number}", vector(0, number, 1))
        group.turn(summaries, (different, minutes(60 * number)))
        assert group.plans[-1].decisions["parser"] is GateReason.EDITED
    assert group.entities["parser"].summary == "My own words."
    assert summaries.is_edited("parser")


def test_what_an_extractor_says_of_a_new_entity_is_no_edit_and_makes_way_for_facts() -> None:
    told = "Function in `rows.py`: it splits lines"
    described = {"described_as": told}
    known = Entity("rows", GroupId("zoo"), "rows", (), f"{told}.", START, described)
    edited = replace(known, uuid="lines", summary="Written by hand.")
    summaries = GroupSummaries([known, edited], (), (), None, LIMITS)
    assert [summaries.is_edited(uuid) for uuid in ("rows", "lines")] == [False, True]
    [given_] = summaries.plan(changes(facts=[fact(source="rows")]), START).inputs
    assert rule_summary(given_.entity, given_.facts).startswith(f"{told}.\n")


def test_the_end_of_a_burst_is_no_decision_about_an_edited_summary() -> None:
    group = Group()
    for number in range(2):
        told = fact(f"f{number}", f"it says {number}", vector(number, 1 - number, 0))
        group.turn(group.load(), (told, minutes(number)))
    group.entities["parser"] = replace(group.entities["parser"], summary="My own words.")
    summaries = group.load()
    for number in range(2):
        elsewhere = fact(f"g{number}", f"a cat {number}", source="cat", target="sofa")
        group.turn(summaries, (elsewhere, minutes(30 + 60 * number)))
    assert [plan.decisions["lines"] for plan in group.plans[2:3]] == [GateReason.BURST_ENDED]
    assert all("parser" not in plan.decisions for plan in group.plans[2:])


def test_an_edited_summary_is_written_again_from_facts_and_what_was_recorded() -> None:
    group = Group()
    group.turn(group.load(), (fact("f1"), START))
    recorded = group.entities["parser"].summary
    group.entities["parser"] = replace(group.entities["parser"], summary="My own words.")
    group.entities["foreign"] = Entity("foreign", GroupId("zoo"), "foreign", (), "Told.", START)
    group.turn(group.load(), (fact("f2", "it says more", vector(0, 1, 0)), minutes(60)))
    [given] = group.load().edited()
    assert given.entity == group.entities["parser"]
    assert given.previous == recorded
    assert [one.uuid for one in given.facts] == ["f1", "f2"]
    assert given.new == {"f2"}


def test_after_an_undo_in_the_middle_every_remaining_fact_is_new_to_the_summary() -> None:
    group = Group()
    summaries = group.load()
    for number in range(4):
        told = fact(f"f{number}", f"it says {number}", vector(number, 4 - number, number % 2))
        group.turn(summaries, (told, minutes(100 * number)))
    history = {TurnId(f"t{number}"): record for number, record in enumerate(group.records)}
    undone = RecordedSummaries(history).undo(TurnId("t1"), ())
    group.records = [{**history, **undone.records}[TurnId(f"t{n}")] for n in (0, 2, 3)]
    del group.facts["f1"]
    for uuid, (_, after) in undone.texts.items():
        group.entities[uuid] = replace(group.entities[uuid], summary=after)
    of_parser = [one for one in group.load().unwritten() if one.entity.uuid == "parser"]
    [given] = of_parser
    assert "it says 0" in given.previous
    assert given.new == {"f0", "f2", "f3"}


def test_facts_whose_vectors_have_two_dimensions_are_summarised_and_the_reason_is_counted() -> None:
    group = Group()
    summaries = group.load()
    group.turn(summaries, (fact("f0", "it says 0", vector(1, 0, 0)), START))
    group.turn(summaries, (fact("f1", "it says 1", vector(1, 0)), minutes(60)))
    group.turn(group.load(), (fact("f2", "it says 2", vector(1, 0)), minutes(120)))
    assert [plan.decisions["parser"] for plan in group.plans[1:]] == [
        GateReason.INCOMPARABLE,
        GateReason.INCOMPARABLE,
    ]
    assert group.reasons[1] == {GateReason.INCOMPARABLE: 2}
