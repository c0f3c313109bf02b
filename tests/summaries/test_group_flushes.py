"""Summaries of a group that are deferred: what ends of bursts and of runs write."""

from tests.summaries.facts import START, fact, minutes, vector
from tests.summaries.group_turns import Group, changes, no_texts
from turnetl.base.model import Entity, GroupId
from turnetl.summaries.group_summaries import outcome
from turnetl.summaries.reasons import GateReason


def test_the_first_turn_after_a_burst_refreshes_what_it_deferred() -> None:
    group = Group()
    summaries = group.load()
    for number in range(2):
        told = fact(f"f{number}", f"it says {number}", vector(number, 1 - number, 0))
        group.turn(summaries, (told, minutes(number)))
    elsewhere = fact("g", "a cat sleeps", vector(0, 0, 1), source="cat", target="sofa")
    group.turn(summaries, (elsewhere, minutes(30)))
    of_parser = [plan.decisions["parser"] for plan in group.plans]
    assert of_parser == [GateReason.FIRST, GateReason.BURST, GateReason.BURST_ENDED]
    assert "it says 1" in group.entities["parser"].summary
    assert group.reasons[-1] == {GateReason.BURST_ENDED: 2, GateReason.FIRST: 2}


def test_a_summary_without_a_text_and_one_that_is_flushed_are_counted() -> None:
    group = Group()
    summaries = group.load()
    for number in range(3):
        told = fact(
            f"f{number}", f"it says {number}", vector(number == 1, number == 0, number == 2)
        )
        group.turn(summaries, (told, minutes(number)))
    last = changes(facts=(fact("f3", "it says 3", vector(1, 1, 0)),))
    plan = summaries.plan(last, minutes(3), ends_run=True)
    assert plan.decisions["parser"] is GateReason.BURST_CAP
    assert outcome(plan, {})[GateReason.NO_TEXT] == 2
    other = changes(facts=(fact("g", "sleeps", source="cat", target="sofa"),), mentions=("cat",))
    ending = summaries.plan(other, minutes(3), ends_run=True)
    flushed = [given.entity.uuid for given in ending.flushed]
    assert flushed == ["lines", "parser"]
    texts = dict.fromkeys(flushed, "text")
    assert outcome(ending, texts)[GateReason.FLUSHED] == 2
    summaries.apply(other, summaries.record(ending, texts), minutes(3))
    assert summaries.unwritten() == ()


def test_a_flush_after_the_last_turn_is_made_of_the_same_as_one_within_it() -> None:
    group = Group()
    summaries = group.load()
    group.turn(summaries, (fact("f0", "it says 0", vector(1, 0, 0)), START))
    last = changes(facts=(fact("f1", "it says 1", vector(0, 1, 0)),))
    plan = summaries.plan(last, minutes(1), ends_run=True)
    within = [given for given in plan.flushed if given.entity.uuid == "parser"]
    summaries.apply(last, summaries.record(plan, {}), minutes(1))
    after = [given for given in summaries.unwritten() if given.entity.uuid == "parser"]
    assert [given.degrees for given in within] == [given.degrees for given in after]
    assert within[0].degrees == {"parser": 2, "lines": 2}


def test_a_summary_that_the_provider_did_not_return_is_tried_by_the_next_turn() -> None:
    group = Group()
    summaries = group.load()
    change = changes(
        (Entity("parser", GroupId("zoo"), "parser", (), "", START),), (fact(),), (), ("parser",)
    )
    plan = summaries.plan(change, START)
    summaries.apply(change, summaries.record(plan, {}), START)
    again = summaries.plan(changes(mentions=("parser",)), minutes(1))
    assert again.decisions["parser"] is GateReason.FIRST


def test_a_burst_that_ended_without_a_text_is_written_by_the_end_of_a_run() -> None:
    group = Group()
    summaries = group.load()
    for number in range(2):
        told = fact(f"f{number}", f"it says {number}", vector(number, 1 - number, 0))
        group.turn(summaries, (told, minutes(number)))
    elsewhere = changes(mentions=("cat",))
    plan = no_texts(group, summaries, elsewhere, minutes(30))
    assert plan.decisions["parser"] is GateReason.BURST_ENDED
    for held in (summaries, group.load()):
        assert [one.entity.uuid for one in held.unwritten()] == ["lines", "parser"]
        # No later turn of another entity repeats the request.
        assert not held.plan(elsewhere, minutes(90)).inputs
        ending = held.plan(elsewhere, minutes(90), ends_run=True)
        assert [one.entity.uuid for one in ending.flushed] == ["lines", "parser"]


def test_the_end_of_a_run_waits_for_more_turns_too_unless_it_is_asked_for_all() -> None:
    group = Group()
    summaries = group.load()
    group.turn(summaries, (fact("f0", "it says 0", vector(1, 0, 0)), START))
    for number in range(1, 3):
        told = fact(f"f{number}", f"it says {number}", vector(0, number, number % 2))
        no_texts(group, summaries, changes(facts=(told,)), minutes(60 * number))
        group.facts[told.uuid] = told
    for held in (summaries, group.load()):
        assert held.unwritten() == ()
        due = held.unwritten(all_deferred=True)
        assert [one.entity.uuid for one in due] == ["lines", "parser"]
        assert [one.failures for one in due] == [2, 2]
