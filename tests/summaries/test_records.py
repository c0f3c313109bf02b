"""What a turn records about summaries, and what follows from the records of all turns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, minutes, vector
from turnetl.base.errors import GraphUnusable
from turnetl.llm.vectors import unpack
from turnetl.summaries.gate import GateState, similarity
from turnetl.summaries.group_facts import ActiveFacts
from turnetl.summaries.records import EntitySummary, add_record, encode, replay, with_flushed

times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis wants naive bounds
hashes = st.text("0123456789abcdef", min_size=32, max_size=32)
skips = st.builds(
    GateState,
    recent_turns=st.lists(times, max_size=3).map(tuple),
    deferred=st.integers(0, 100),
    pending=st.lists(st.text(max_size=36), max_size=5).map(tuple),
    ended=st.lists(st.text(max_size=36), max_size=5).map(tuple),
    failures=st.integers(0, 100),
    pause=st.integers(0, 64),
)
refreshes = st.tuples(hashes, times, st.text())
turns = st.dictionaries(
    st.sampled_from(["parser", "lines", "rows"]), st.tuples(skips, st.none() | refreshes)
)
Turn = Mapping[str, tuple[GateState, tuple[str, datetime, str] | None]]


def recorded(history: Sequence[Turn]) -> tuple[list[str], list[dict[str, EntitySummary]]]:
    """Return the record of each turn, and the summaries after each."""
    now: dict[str, EntitySummary] = {}
    records, after = [], []
    for turn in history:
        for entity, (state, refresh) in turn.items():
            known = now.get(entity, EntitySummary())
            now[entity] = EntitySummary(
                replace(
                    state,
                    fact_hash=refresh[0] if refresh else known.state.fact_hash,
                    summarised_at=refresh[1] if refresh else known.state.summarised_at,
                ),
                refresh[2] if refresh else known.text,
            )
        touched = {entity: now[entity] for entity in turn}
        records.append(
            encode(touched, dict.fromkeys((entity for entity, (_, new) in turn.items() if new), ""))
        )
        after.append(dict(now))
    return records, after


@pytest.mark.full
@given(st.lists(turns, max_size=6))
def test_without_the_latest_turns_the_summaries_are_as_before_them(history: list[Turn]) -> None:
    records, after = recorded(history)
    for count, expected in enumerate(after, start=1):
        assert replay(records[:count]) == expected


@pytest.mark.full
@given(st.lists(turns, max_size=6), st.integers(0, 6))
def test_the_records_of_one_run_or_of_several_lead_to_the_same(
    history: list[Turn], split: int
) -> None:
    records, _ = recorded(history)
    summaries = replay(records[:split])
    for record in records[split:]:
        add_record(summaries, record)
    assert summaries == replay(records)


def test_what_the_end_of_a_run_wrote_is_shown_until_the_next_refresh() -> None:
    first = GateState("0" * 32, summarised_at=START)
    made = encode({"parser": EntitySummary(first, "It reads.")}, {"parser": ""})
    skipped = encode({"parser": EntitySummary(replace(first, deferred=1), "It reads.")}, {})
    flushed = with_flushed(skipped, {"parser": "It reads and writes."})
    later = replace(first, fact_hash="1" * 32, summarised_at=minutes(9))
    again = encode({"parser": EntitySummary(later, "It reads, writes, sorts.")}, {"parser": ""})

    def shown(*records: str) -> str:
        return replay(records)["parser"].shown

    assert shown(made, flushed) == "It reads and writes."
    assert shown(made, flushed, skipped) == "It reads and writes."
    assert shown(made, flushed, again) == "It reads, writes, sorts."
    assert shown(made) == "It reads."
    assert replay([made, flushed])["parser"].state == replay([made, skipped])["parser"].state


def test_a_turn_that_touches_no_entity_records_nothing() -> None:
    assert replay(["", encode({}, {})]) == {}


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=300))
def test_a_vector_keeps_its_direction(numbers: list[float]) -> None:
    if sum(number * number for number in numbers) < 1e-6:
        return
    written = vector(*numbers)
    state = GateState("0" * 32, written, summarised_at=START)
    read = replay([encode({"parser": EntitySummary(state)}, {"parser": ""})])[
        "parser"
    ].state.embedding
    assert read is not None
    assert float(np.dot(unpack(written), unpack(read))) > 0.999


def test_only_a_refresh_records_the_vector_and_the_text() -> None:
    made, turns_about = vector(*range(1, 257)), (minutes(1), minutes(2))
    state = GateState("0" * 32, made, "abc", START, turns_about)
    summary = {"parser": EntitySummary(state, "It reads lines.")}
    assert "It reads lines." in encode(summary, {"parser": ""})
    assert len(encode(summary, {})) < 120


def test_a_record_of_an_earlier_version_is_read_and_its_vector_belongs_to_no_known_embedder() -> (
    None
):
    earlier = (
        '[{"entity":"x","refresh":{"facts":"a","at":"2026-03-01T00:00:00Z","text":"It reads.",'
        '"vector":"fwAA"},"turns":["2026-03-01T00:00:00Z"],"pending":["f1"]}]'
    )
    state = replay([earlier])["x"].state
    assert (state.embedder, state.ended, state.failures, state.pause) == (None, (), 0, 0)
    of_known = ActiveFacts(1, "b", state.embedding, "digest")
    assert similarity(state, of_known) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '[{"turns": []}]',
        '[{"entity": "x", "turns": ["yesterday"]}]',
        '[{"entity": "x", "refresh": {"facts": "", "at": "2026-03-01T00:00:00Z", "text": ""}}',
    ],
)
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(GraphUnusable, match=r"of a (?:turn's summaries|summary) cannot be read"):
        replay([text])
