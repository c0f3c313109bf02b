"""Hits of turns and of session-level episodes together: each fact and each hit once."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START
from turnetl.base.model import SessionId, TurnId
from turnetl.graph.session_level import UNKNOWN_TIME
from turnetl.retrieval.hits import HitFact, SearchHit, SessionHit
from turnetl.retrieval.search import CombinedHits, Hits, Order, combine_hits


def hit(name: str, session: str, score: float, *facts: str, minute: int = 0) -> SearchHit:
    """Return a hit; of an episode if it is one of the index of episodes."""
    first, *more = facts or (f"fact of {name}",)
    return SearchHit(
        id=name,
        prompt="",
        intent="",
        outcome="",
        started_at=START + timedelta(minutes=minute),
        fact=first,
        score=score,
        relevance=None,
        relation="USES",
        valid_at=START,
        invalid_at=None,
        group_id=GROUP,
        session_id=SessionId(session),
        turn_id=TurnId(name),
        archive=f"archive of {name}",
        first_line=1,
        last_line=2,
        passage="",
        more_facts=tuple(HitFact(text, "USES", START, None) for text in more),
        files=(),
    )


def combined(
    turns: list[SearchHit],
    sessions: list[SearchHit],
    *,
    limit: int = 10,
    order: Order = Order.SCORE,
) -> CombinedHits:
    return combine_hits(Hits(tuple(turns)), Hits(tuple(sessions)), order=order, limit=limit)


def names(found: CombinedHits) -> list[str]:
    return [one.id if isinstance(one, SearchHit) else one.episode for one in found.results]


def test_an_episode_is_under_the_best_turn_of_its_session_and_not_counted() -> None:
    turns = [hit("t1", "s1", 0.9), hit("t2", "s2", 0.8), hit("t3", "s2", 0.7)]
    found = combined(turns, [hit("e", "s2", 0.95)], limit=3)
    assert names(found) == ["t1", "t2", "t3"]
    assert [[below.episode for below in one.session_hits] for one in found.hits] == [[], ["e"], []]
    assert found.session_hits == ()


def test_other_episodes_are_hits_of_their_own_in_the_order_of_scores_and_count() -> None:
    turns = [hit("t1", "s1", 0.9), hit("t2", "s2", 0.5)]
    sessions = [hit("e1", "", 0.95), hit("e2", "other", 0.6), hit("e3", "", 0.1)]
    assert names(combined(turns, sessions)) == ["e1", "t1", "e2", "t2", "e3"]
    assert names(combined(turns, sessions, limit=2)) == ["e1", "t1"]


def test_a_list_by_time_is_merged_by_time() -> None:
    turns = [hit("t1", "s1", 1, minute=5), hit("t2", "s1", 1, minute=1)]
    sessions = [replace(hit("e0", "", 1), started_at=UNKNOWN_TIME), hit("e3", "", 1, minute=3)]
    assert names(combined(turns, sessions, order=Order.TIME)) == ["t1", "e3", "t2", "e0"]


def test_what_a_model_rated_stays_first() -> None:
    turns = [replace(hit("t1", "s1", 0.2), relevance=0.9)]
    assert names(combined(turns, [hit("e", "", 0.9)])) == ["t1", "e"]


def test_no_fact_is_shown_twice() -> None:
    turns = [hit("t1", "s", 0.9, "The cart rounds."), hit("t2", "s", 0.8, "`tax.py` reads rates")]
    episode = hit("e", "s", 0.7, "the cart rounds", "tax.py reads rates.", "Norway has a rate.")
    [below] = combined(turns, [episode]).hits[0].session_hits
    assert (below.fact, below.more_facts) == ("Norway has a rate.", ())
    said = hit("e", "s", 0.7, "the cart rounds")
    [below] = combined(turns, [said]).hits[0].session_hits
    assert below.fact == ""


def test_an_episode_without_a_time_has_none() -> None:
    [found] = combined([], [replace(hit("e", "", 1), started_at=UNKNOWN_TIME)]).session_hits
    assert found.reference_time is None
    assert found.session_id is None


HITS = st.lists(
    st.tuples(st.sampled_from(["", "s1", "s2", "s3"]), st.floats(0, 1)), max_size=6, unique=True
)


@given(HITS, HITS)
def test_every_hit_is_in_the_result_once(
    turns: list[tuple[str, float]], sessions: list[tuple[str, float]]
) -> None:
    of_turns = [hit(f"t{n}", session or "s0", score) for n, (session, score) in enumerate(turns)]
    of_sessions = [hit(f"e{n}", session, score) for n, (session, score) in enumerate(sessions)]
    found = combined(of_turns, of_sessions, limit=20)
    below: list[SessionHit] = [one for turn in found.hits for one in turn.session_hits]
    assert sorted(one.turn_id for one in found.hits) == sorted(one.turn_id for one in of_turns)
    shown = [one.episode for one in (*below, *found.session_hits)]
    assert sorted(shown) == sorted(one.turn_id for one in of_sessions)
    scores = [one.score for one in found.results]
    assert scores == sorted(scores, reverse=True)
