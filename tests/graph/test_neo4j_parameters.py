"""Parameters of a turn are equal to those without an abbreviated text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j import Driver

from tests.servers.neo4j_server import Neo4jServer
from turnetl.graph.neo4j_parameters import abbreviated

VALUES = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda child: st.lists(child) | st.dictionaries(st.text(), child),
    max_leaves=10,
)


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


def _received(opened: Driver, values: dict[str, object]) -> dict[str, object]:
    with opened as driver:
        query = "RETURN $rows AS rows, $commit AS commit"
        records = driver.execute_query(query, abbreviated(values)).records
    return dict(records[0])
