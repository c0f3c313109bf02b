"""Which turns a run must commit, and why it leaves the others out."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import polars as pl

from tests import builders
from tests.builders import GROUP, START, episode
from turnetl.base import ids
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Episode
from turnetl.ingestion.plan import Scope, TurnPlan, plan_turns
from turnetl.ingestion.reasons import PendingReason, StaleReason

NOW = START + timedelta(days=1)
RECIPE = {"ordinary": "r1", "error_heavy": "r1"}


def plan(
    *episodes: Episode,
    committed: tuple[Episode, ...] = (),
    recipe: dict[str, str] | Callable[[str], str] | None = RECIPE,
    **scope: object,
) -> TurnPlan:
    rows = [
        {
            "turn_id": e.turn_id,
            "session_id": e.turn.session_id,
            "noise": e.noise,
            "started_at": e.turn.started_at,
            "has_no_time": e.turn.started_at is None,
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
        [receipt(e) for e in committed],
        scope.pop("quarantined", ()),  # type: ignore[arg-type]
        Scope(now=scope.pop("now", NOW), **scope),  # type: ignore[arg-type]
        recipe=recipe.__getitem__ if isinstance(recipe, dict) else recipe,
        context_turns=2,
    )


def receipt(episode: Episode) -> Receipt:
    return builders.receipt(episode, recipe="r1", started_at=START)


def test_every_turn_is_counted_once() -> None:
    ready, done, over_limit = (episode(name) for name in "abg")
    noise = episode("c", noise="repeat")
    timeless, failed = episode("d", started_at=None), episode("e")
    unfinished, late = episode("f", closed=False, closed_by=None), episode("h", started_at=NOW)
    turns = (ready, done, noise, timeless, failed, unfinished, over_limit, late)
    planned = plan(*turns, committed=(done,), quarantined=(failed.turn_id,), until=NOW, limit=1)
    pending = sum(planned.pending_reasons.values()) + len(planned.quarantined)
    assert (
        planned.turns
        == planned.committed + len(planned.to_commit) + sum(planned.noise.values()) + pending
    )
    left_out = (
        *(PendingReason.NO_TIME, PendingReason.OPEN),
        *(PendingReason.OUT_OF_RANGE, PendingReason.OVER_LIMIT),
    )
    assert planned.pending_reasons == dict.fromkeys(left_out, 1)
    assert planned.quarantined == {failed.turn_id}


def test_turns_are_planned_in_the_order_of_the_table() -> None:
    turns = [episode(name) for name in "abc"]
    assert plan(*turns).to_commit == tuple(e.turn_id for e in turns)


def test_a_turn_that_is_not_over_is_pending() -> None:
    planned = plan(episode("a", closed=False, closed_by=None))
    assert (planned.to_commit, planned.pending_reasons) == ((), {PendingReason.OPEN: 1})


def test_history_that_arrives_late_is_planned_although_a_newer_turn_is_committed() -> None:
    old, new = episode("old", started_at=START - timedelta(days=30)), episode("new")
    assert plan(old, new, committed=(new,)).to_commit == (old.turn_id,)


def test_a_committed_turn_that_a_noise_rule_matches_now_stays_committed() -> None:
    turn = episode("a", noise="repeat")
    planned = plan(turn, committed=(turn,))
    assert (planned.committed, planned.noise, planned.stale_reasons) == (
        1,
        {},
        {StaleReason.NOISE: 1},
    )


def test_an_edited_turn_is_stale_and_not_committed_again() -> None:
    before = episode("a")
    edited = episode("a", user_text="Something else was asked.")
    # Something that the text leaves out, as of a long result.
    not_rendered = replace(before, turn=replace(before.turn, content_hash=ids.digest("edited")))
    for now in (edited, not_rendered):
        planned = plan(now, committed=(before,))
        assert planned.stale_reasons == {StaleReason.CONTENT_CHANGED: 1}
        assert (planned.to_commit, planned.committed) == ((), 1)


def test_a_turn_that_is_rendered_differently_is_stale_and_not_committed_again() -> None:
    before = episode("a")
    now = replace(
        before, text="user: Why?", chunks=("user: Why?",), text_hash=ids.digest("user: Why?")
    )
    planned = plan(now, episode("b"), committed=(before, episode("b")))
    assert (planned.stale_reasons, planned.to_commit, planned.committed) == (
        {StaleReason.TEXT_CHANGED: 1},
        (),
        2,
    )


def test_a_turn_with_another_recipe_is_stale_unless_the_recipe_is_not_known() -> None:
    turn = episode("a")
    assert plan(turn, committed=(turn,), recipe={"ordinary": "r2"}).stale_reasons == {
        StaleReason.RECIPE_CHANGED: 1
    }
    assert plan(turn, committed=(turn,), recipe=None).stale_reasons == {}


def test_a_recipe_that_changed_for_one_kind_makes_only_turns_of_that_kind_stale() -> None:
    failed = replace(episode("a"), kind="error_heavy")
    turns = (failed, episode("b"), replace(episode("c"), kind="error_heavy"))
    now = {"ordinary": "r1", "error_heavy": "r2"}
    assert plan(*turns, committed=turns, recipe=now).stale_reasons == {
        StaleReason.RECIPE_CHANGED: 2
    }
    assert plan(*turns, committed=turns).stale_reasons == {}


def test_a_recipe_is_computed_once_for_each_kind_that_occurs_among_committed_turns() -> None:
    kinds: list[str] = []

    def recipe(kind: str) -> str:
        kinds.append(kind)
        return "r1"

    turns = [episode(name) for name in "abc"]
    pending = replace(episode("d"), kind="error_heavy")
    plan(*turns, pending, committed=tuple(turns), recipe=recipe)
    assert kinds == ["ordinary"]


def test_turns_beyond_the_limit_are_pending_with_that_reason() -> None:
    planned = plan(episode("a"), episode("b"), limit=1)
    assert len(planned.to_commit) == 1
    assert planned.pending_reasons == {PendingReason.OVER_LIMIT: 1}


def test_since_is_inclusive_and_until_is_exclusive() -> None:
    turn = episode("a")
    assert plan(turn, since=START).to_commit == (turn.turn_id,)
    assert plan(turn, until=START).to_commit == ()


def test_the_context_is_the_last_kept_turns_of_the_same_session_oldest_first() -> None:
    one, two, three, four = (episode(name) for name in "abcd")
    noise, other = episode("n", noise="repeat"), episode("o", session_id="s2")
    planned = plan(one, two, noise, other, three, four, committed=(one, two))
    assert planned.context[four.turn_id] == (two.turn_id, three.turn_id)
    assert planned.context[three.turn_id] == (one.turn_id, two.turn_id)
    assert planned.context[other.turn_id] == ()


def test_a_committed_turn_that_the_lake_no_longer_holds_is_counted() -> None:
    assert plan(episode("a"), committed=(episode("z"),)).missing_from_lake == 1


def test_a_quarantined_turn_is_planned_only_by_a_retry_and_within_its_range() -> None:
    early, late = episode("a"), episode("b", started_at=START + timedelta(days=9))
    failed = (early.turn_id, late.turn_id)
    now = START + timedelta(days=10)
    assert plan(early, late, quarantined=failed, now=now).to_commit == ()
    again = plan(early, late, quarantined=failed, now=now, retry=True, until=START + timedelta(1))
    assert again.to_commit == (early.turn_id,)
    assert again.quarantined == set(failed)
    assert again.pending_reasons == {}
