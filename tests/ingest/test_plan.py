from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import polars as pl

from tests.builders import GROUP, START, episode
from turnetl import ids
from turnetl.ingest.plan import Scope, TurnPlan, plan_turns
from turnetl.ingest.reasons import PendingReason, StaleReason
from turnetl.model import Episode, Receipt, Usage

NOW = START + timedelta(days=1)
RECIPE = {"ordinary": "r1", "error_heavy": "r1"}


def planned(
    *episodes: Episode,
    done: tuple[Episode, ...] = (),
    recipe: dict[str, str] | Callable[[str], str] | None = RECIPE,
    **scope: object,
) -> TurnPlan:
    rows = [
        {
            "turn_id": e.turn_id,
            "session_id": e.turn.session_id,
            "noise": e.noise,
            "started_at": e.turn.started_at,
            "timeless": e.turn.started_at is None,
            "closed": e.turn.closed,
            "content_hash": e.turn.content_hash,
            "text_hash": e.text_hash,
            "kind": e.kind,
        }
        for e in episodes
    ]
    types: dict[str, pl.DataType] = {
        "noise": pl.String(),
        "started_at": pl.Datetime("us", "UTC"),
    }
    return plan_turns(
        GROUP,
        pl.DataFrame(rows, schema_overrides=types),
        [receipt(e) for e in done],
        scope.pop("quarantined", ()),  # type: ignore[arg-type]
        Scope(now=scope.pop("now", NOW), **scope),  # type: ignore[arg-type]
        recipe=recipe.__getitem__ if isinstance(recipe, dict) else recipe,
        context_turns=2,
    )


def receipt(of: Episode) -> Receipt:
    return Receipt(
        turn_id=of.turn_id,
        group_id=GROUP,
        session_id=of.turn.session_id,
        ordinal=0,
        run_id="run",
        content_hash=of.turn.content_hash,
        text_hash=of.text_hash,
        parts=1,
        recipe="r1",
        committed_at=NOW,
        started_at=START,
        ended_at=None,
        archive="a",
        first_line=1,
        last_line=2,
        usage=Usage(),
        entities_new=0,
        facts_new=0,
        facts_invalidated=0,
    )


def test_every_turn_is_counted_once() -> None:
    kept, done, noise = episode("a"), episode("b"), episode("c", noise="repeat")
    timeless, aside = episode("d", started_at=None), episode("e")
    made = planned(kept, done, noise, timeless, aside, done=(done,), quarantined=(aside.turn_id,))
    waiting = sum(made.pending_reasons.values()) + len(made.quarantined)
    assert made.turns == made.committed + len(made.todo) + sum(made.noise.values()) + waiting
    assert made.pending_reasons == {PendingReason.NO_TIME: 1}
    assert made.quarantined == {aside.turn_id}


def test_the_order_of_the_table_is_the_order_of_the_work() -> None:
    turns = [episode(name) for name in "abc"]
    assert planned(*turns).todo == tuple(e.turn_id for e in turns)


def test_a_turn_that_is_not_over_waits() -> None:
    made = planned(episode("a", closed=False, closed_by=None))
    assert (made.todo, made.pending_reasons) == ((), {PendingReason.OPEN: 1})


def test_history_that_arrives_late_is_not_hidden_by_a_newer_commit() -> None:
    old, new = episode("old", started_at=START - timedelta(days=30)), episode("new")
    assert planned(old, new, done=(new,)).todo == (old.turn_id,)


def test_a_committed_turn_that_a_rule_now_speaks_against_stays_committed() -> None:
    turn = episode("a", noise="repeat")
    made = planned(turn, done=(turn,))
    assert (made.committed, made.noise, made.stale_reasons) == (1, {}, {StaleReason.NOISE: 1})


def test_an_edited_turn_is_stale_and_not_done_again() -> None:
    edited = episode("a", user_text="Something else was asked.")
    made = planned(edited, done=(episode("a"),))
    assert (made.stale_reasons, made.todo, made.committed) == (
        {StaleReason.CONTENT_CHANGED: 1},
        (),
        1,
    )


def test_a_turn_that_is_rendered_otherwise_today_is_stale_and_not_done_again() -> None:
    before = episode("a")
    now = replace(
        before, text="user: Why?", parts=("user: Why?",), text_hash=ids.digest("user: Why?")
    )
    made = planned(now, episode("b"), done=(before, episode("b")))
    assert (made.stale_reasons, made.todo, made.committed) == ({StaleReason.TEXT_CHANGED: 1}, (), 2)


def test_a_turn_that_would_be_extracted_otherwise_today_is_stale_unless_nobody_can_tell() -> None:
    turn = episode("a")
    assert planned(turn, done=(turn,), recipe={"ordinary": "r2"}).stale_reasons == {
        StaleReason.RECIPE_CHANGED: 1
    }
    assert planned(turn, done=(turn,), recipe=None).stale_reasons == {}


def test_a_change_for_one_kind_makes_turns_of_that_kind_stale_and_no_others() -> None:
    failed = replace(episode("a"), kind="error_heavy")
    turns = (failed, episode("b"), replace(episode("c"), kind="error_heavy"))
    now = {"ordinary": "r1", "error_heavy": "r2"}
    assert planned(*turns, done=turns, recipe=now).stale_reasons == {StaleReason.RECIPE_CHANGED: 2}
    assert planned(*turns, done=turns).stale_reasons == {}


def test_a_recipe_is_asked_for_once_a_kind_and_for_no_kind_that_is_not_there() -> None:
    asked: list[str] = []

    def recipe(kind: str) -> str:
        asked.append(kind)
        return "r1"

    turns = [episode(name) for name in "abc"]
    waiting = replace(episode("d"), kind="error_heavy")
    planned(*turns, waiting, done=tuple(turns), recipe=recipe)
    assert asked == ["ordinary"]


def test_a_limit_leaves_the_rest_waiting_with_a_reason() -> None:
    made = planned(episode("a"), episode("b"), limit=1)
    assert len(made.todo) == 1
    assert made.pending_reasons == {PendingReason.OVER_LIMIT: 1}


def test_since_is_included_and_until_is_not() -> None:
    turn = episode("a")
    assert planned(turn, since=START).todo == (turn.turn_id,)
    assert planned(turn, until=START).todo == ()


def test_context_is_the_last_kept_turns_of_the_same_session_oldest_first() -> None:
    one, two, three, four = (episode(name) for name in "abcd")
    noise, other = episode("n", noise="repeat"), episode("o", session_id="s2")
    made = planned(one, two, noise, other, three, four, done=(one, two))
    assert made.context[four.turn_id] == (two.turn_id, three.turn_id)
    assert made.context[three.turn_id] == (one.turn_id, two.turn_id)
    assert made.context[other.turn_id] == ()


def test_a_committed_turn_that_the_lake_no_longer_holds_is_seen() -> None:
    assert planned(episode("a"), done=(episode("z"),)).missing_from_lake == 1


def test_what_was_set_aside_is_taken_again_only_by_a_retry_and_within_its_range() -> None:
    early, late = episode("a"), episode("b", started_at=START + timedelta(days=9))
    aside = (early.turn_id, late.turn_id)
    now = START + timedelta(days=10)
    assert planned(early, late, quarantined=aside, now=now).todo == ()
    again = planned(early, late, quarantined=aside, now=now, retry=True, until=START + timedelta(1))
    assert again.todo == (early.turn_id,)
    assert again.quarantined == set(aside)
    assert again.pending_reasons == {}
