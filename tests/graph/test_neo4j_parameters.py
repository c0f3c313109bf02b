"""Parameters of a turn are equal to those without an abbreviated text and shared times."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j import Driver
from neo4j.time import DateTime

from tests.servers.neo4j_server import Neo4jServer
from turnetl.graph.neo4j.cypher import abbreviated, row_with_times, with_shared_times

VALUES = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda child: st.lists(child) | st.dictionaries(st.text(), child),
    max_leaves=10,
)


@pytest.mark.full
@given(parameters=st.dictionaries(st.text(), VALUES))
def test_abbreviated_parameters_are_equal_to_the_given_ones(parameters: dict[str, object]) -> None:
    assert abbreviated(parameters) == parameters


def test_the_text_of_a_parameter_contains_none_of_its_numbers() -> None:
    rows = [{"uuid": "e1", "name_embedding": [0.123] * 1_024}]
    text = str(abbreviated({"rows": rows, "commit": {"tokens": [0.123] * 9}, "group": "g"}))
    assert text == "{'rows': [1 items], 'commit': {tokens}, 'group': 'g'}"


@pytest.mark.neo4j
def test_a_server_receives_what_was_given(neo4j: Neo4jServer) -> None:
    given_values: dict[str, object] = {
        "rows": [{"vector": [0.5, 1.5], "name": None}],
        "commit": {"tools": ["a"]},
    }
    assert _received(neo4j.driver(), given_values) == given_values


TIMES = st.datetimes(timezones=st.just(UTC))
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["created_at", "valid_at", "ended"]), st.none() | TIMES),
    max_size=6,
)


@given(rows=ROWS)
def test_each_time_of_the_rows_is_sent_once(rows: list[dict[str, datetime | None]]) -> None:
    sent = with_shared_times({"rows": rows, "group": "g"})
    given_times = {time for row in rows for time in row.values() if time is not None}
    assert sorted(sent["times"]) == sorted(given_times)
    times = dict(enumerate(sent["times"]))
    assert [{name: times.get(at) for name, at in row.items()} for row in sent["rows"]] == rows
    assert sent["group"] == "g"


@pytest.mark.neo4j
def test_a_server_reads_the_times_of_each_row(neo4j: Neo4jServer) -> None:
    now, later = datetime(2026, 3, 2, 9, 1, 2, 345, UTC), datetime(2027, 1, 1, tzinfo=UTC)
    rows = [
        {"uuid": "a", "created_at": now, "valid_at": None},
        {"uuid": "b", "created_at": now, "valid_at": later},
    ]
    row = row_with_times("created_at", "valid_at")
    with neo4j.driver() as driver:
        records = driver.execute_query(
            f"UNWIND $rows AS row RETURN {row} AS row", with_shared_times({"rows": rows})
        ).records
    assert [{name: _native(value) for name, value in one["row"].items()} for one in records] == rows


def _native(value: object) -> object:
    return value.to_native() if isinstance(value, DateTime) else value


def _received(opened: Driver, values: dict[str, object]) -> dict[str, object]:
    with opened as driver:
        query = "RETURN $rows AS rows, $commit AS commit"
        records = driver.execute_query(query, abbreviated(values)).records
    return dict(records[0])
