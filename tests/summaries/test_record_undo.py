"""What remains of recorded summaries when turns are undone."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START
from turnetl.base.model import TurnId
from turnetl.summaries.records import (
    EntityRecord,
    RecordedSummaries,
    Refresh,
    decode,
    encode_records,
    replay,
)

NAMES = ("parser", "lines", "rows")


def refreshed(entity: str, text: str) -> EntityRecord:
    return EntityRecord(entity, Refresh("hash", START, text), (START,))


records = st.lists(
    st.one_of(
        st.builds(refreshed, st.sampled_from(NAMES), st.integers(0, 99).map(str)),
        st.builds(EntityRecord, st.sampled_from(NAMES), turns=st.just((START,))),
        st.builds(
            lambda entity, text: EntityRecord(entity, flushed=f"flushed {text}"),
            st.sampled_from(NAMES),
            st.integers(0, 99),
        ),
    ),
    max_size=3,
)
histories = st.lists(records, max_size=8).map(
    lambda turns: {TurnId(f"t{place}"): encode_records(turn) for place, turn in enumerate(turns)}
)


def shown(recorded: Sequence[str]) -> dict[str, str]:
    return {uuid: summary.shown for uuid, summary in replay(recorded).items() if summary.shown}


@given(histories, st.integers(0, 8))
def test_without_the_latest_turns_the_summaries_are_what_they_were_before_them(
    history: dict[TurnId, str], kept: int
) -> None:
    remaining = RecordedSummaries(history)
    now = {name: shown([*history.values()]).get(name, "") for name in NAMES}
    for turn in reversed([*history][kept:]):
        undone = remaining.undo(turn, ())
        assert undone.records == {}
        for uuid, (before, after) in undone.texts.items():
            assert now[uuid] == before
            now[uuid] = after
    left = dict([*history.items()][:kept])
    assert remaining.records == left
    assert {name: text for name, text in now.items() if text} == shown([*left.values()])


@given(histories, st.integers(0, 7))
def test_nothing_that_followed_from_an_undone_turn_remains(
    history: dict[TurnId, str], place: int
) -> None:
    turn = TurnId(f"t{place}")
    if turn not in history:
        return
    concerned = {record.entity for record in decode(history[turn])}
    remaining = RecordedSummaries(history)
    undone = remaining.undo(turn, ())
    rewritten = {**history, **undone.records}
    del rewritten[turn]
    assert remaining.records == rewritten
    for later in [*history][place + 1 :]:
        written = {one.entity for one in decode(rewritten[later]) if one.text is not None}
        assert not written & concerned
    assert {uuid: after for uuid, (_, after) in undone.texts.items()} == {
        uuid: shown([*rewritten.values()]).get(uuid, "") for uuid in concerned
    }


def test_a_summary_that_is_taken_back_is_due() -> None:
    history = {
        TurnId("t0"): encode_records([refreshed("parser", "old")]),
        TurnId("t1"): encode_records([refreshed("parser", "quotes t1")]),
        TurnId("t2"): encode_records([EntityRecord("parser", turns=(START,))]),
    }
    undone = RecordedSummaries(history).undo(TurnId("t1"), ())
    assert undone.texts == {"parser": ("quotes t1", "old")}
    assert replay([history[TurnId("t0")], *undone.records.values()])["parser"].state.deferred == 1


def test_no_record_names_an_entity_that_is_removed() -> None:
    history = {
        TurnId("t0"): encode_records([EntityRecord("parser", turns=(START,), deferred=1)]),
        TurnId("t1"): encode_records([refreshed("parser", "ended"), refreshed("rows", "rows")]),
    }
    undone = RecordedSummaries(history).undo(TurnId("t0"), ["parser"])
    assert undone.records == {TurnId("t1"): encode_records([refreshed("rows", "rows")])}


def test_a_turn_that_records_nothing_changes_nothing() -> None:
    remaining = RecordedSummaries({TurnId("t0"): ""})
    assert remaining.undo(TurnId("other"), ()).texts == {}
    assert remaining.undo(TurnId("t0"), ()).records == {}
