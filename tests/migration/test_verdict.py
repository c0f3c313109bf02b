"""A verdict counts for the state that was compared, and a cutover says why it needs --accept."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START, episode, receipt
from tests.index.test_session_index import data, fact
from tests.index.test_session_index import episode as session_episode
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.session_level import SessionLevelData
from turnetl.migration.comparison import (
    CompareVerdict,
    cutover_refusal,
    encoded_verdict,
    recorded_verdict,
    state_digest,
)

OLD = data([session_episode("a"), session_episode("b")], [fact("f1", "a")])
NEW = [receipt(episode("p0")), receipt(episode("p1"))]
MIGRATION = TurnMigration("0" * 8, GROUP, MigrationPhase.READY, (), (), (), START, START)


def judged(*reasons: str) -> TurnMigration:
    verdict = CompareVerdict(state_digest(OLD, NEW), START, reasons)
    return replace(MIGRATION, verdict=encoded_verdict(verdict))


def test_the_digest_is_of_the_content_and_not_of_the_order_of_turns() -> None:
    assert state_digest(OLD, NEW) == state_digest(OLD, NEW[::-1])


@pytest.mark.parametrize(
    "old",
    [
        data([session_episode("a")], [fact("f1", "a")]),
        data([session_episode("a"), session_episode("b", "Another text")], [fact("f1", "a")]),
        data([session_episode("a"), session_episode("b")], [fact("f1", "a", "b")]),
        data([session_episode("a"), session_episode("b")]),
    ],
)
def test_every_change_of_the_old_data_changes_the_digest(old: SessionLevelData) -> None:
    assert state_digest(old, NEW) != state_digest(OLD, NEW)


def test_every_change_of_the_turns_changes_the_digest() -> None:
    edited = replace(NEW[1], content_hash="other")
    again = replace(NEW[1], recipe="other")
    others = [NEW[:1], [NEW[0], edited], [NEW[0], again]]
    digests = {state_digest(OLD, other) for other in (NEW, *others)}
    assert len(digests) == 4


def test_a_verdict_that_passed_lets_its_state_pass_and_no_other() -> None:
    assert cutover_refusal(judged(), state_digest(OLD, NEW)) is None
    refused = cutover_refusal(judged(), state_digest(OLD, NEW[:1]))
    assert refused is not None
    assert "changed since they were compared" in refused


def test_a_cutover_without_a_comparison_and_one_that_failed_name_the_way_on() -> None:
    never = cutover_refusal(MIGRATION, state_digest(OLD, NEW))
    failed = cutover_refusal(judged("12 facts are lost", "no probe"), state_digest(OLD, NEW))
    assert never is not None
    assert failed is not None
    assert f"turnetl migrate compare --group {GROUP}" in never
    assert "12 facts are lost; no probe" in failed
    assert "--accept" in never
    assert "--accept" in failed


@given(st.lists(st.text()))
def test_a_verdict_is_read_as_it_was_written(reasons: list[str]) -> None:
    printable = [one.encode("utf-8", "replace").decode() for one in reasons]
    assert recorded_verdict(judged(*printable)) == CompareVerdict(
        state_digest(OLD, NEW), START, tuple(printable)
    )


@pytest.mark.parametrize("text", ["", "null", "{}", "nonsense", '{"digest": 1}'])
def test_a_verdict_that_cannot_be_read_is_none(text: str) -> None:
    assert recorded_verdict(replace(MIGRATION, verdict=text)) is None
