"""Ids are found where a program left them, and nowhere else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.migration.samples import episode
from turnetl.graph.session_ids import IdField, SessionIds

UUID = "1b3e6441-62e3-4b41-8a0c-9d252f531f7a"
OTHER = "0c97beba-bfcb-4f84-9950-e0354bfc808b"
IDS = SessionIds([UUID, OTHER, "s1", "rollout-2026-01-02-abc"])


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": f"session-{UUID}"}, IdField.NAME),
        ({"name": f"{UUID}.jsonl"}, IdField.NAME),
        ({"name": UUID.upper()}, IdField.NAME),
        ({"name": f"session id: {UUID[:8]}"}, IdField.NAME),
        ({"description": f"claude session {UUID}, summarised"}, IdField.DESCRIPTION),
        ({"text": json.dumps({"meta": [{"session_id": UUID}]})}, IdField.JSON_BODY),
        ({"text": f"Session ID: {UUID}\nThe cart was fixed."}, IdField.BODY),
    ],
)
def test_an_id_is_found_in_every_field(fields: dict[str, str], field: IdField) -> None:
    found = IDS.find(episode(**fields))  # type: ignore[arg-type]
    assert found is not None
    assert (found.field, found.sessions) == (field, (0,))


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "s1 is a short word"},
        {"text": f"The cart was fixed.\n\n\n\n\nSession ID: {UUID}"},
        {"text": f"See {UUID} for more."},
        {"text": json.dumps({"file": UUID})},
        {"name": "a plain note"},
    ],
)
def test_a_mention_is_no_id(fields: dict[str, str]) -> None:
    found = IDS.find(episode(**fields))  # type: ignore[arg-type]
    assert found is None or not found.sessions


def test_a_short_id_counts_where_it_is_marked_as_one() -> None:
    found = IDS.find(episode(json.dumps({"sessionId": "s1"})))
    assert found is not None
    assert found.sessions == (2,)


def test_the_name_decides_before_the_body() -> None:
    found = IDS.find(episode(json.dumps({"session_id": OTHER}), name=f"session-{UUID}"))
    assert found is not None
    assert found.sessions == (0,)


def test_an_unknown_uuid_names_a_session_that_no_archive_holds() -> None:
    found = IDS.find(episode(name="session 22222222-2222-4222-8222-222222222222"))
    assert found is not None
    assert found.sessions == ()


def test_sessions_of_two_formats_with_one_id_are_both_found() -> None:
    found = SessionIds([UUID, UUID]).find(episode(name=UUID))
    assert found is not None
    assert found.sessions == (0, 1)


@given(st.text(), st.text(), st.text())
def test_hostile_texts_raise_nothing(name: str, description: str, text: str) -> None:
    IDS.find(episode(text, name=name, description=description))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["session_id", "chat", "x"]), inner)
        ),
    )
)
def test_any_json_body_is_read(body: Any) -> None:
    IDS.find(episode(json.dumps({"body": body})))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "{" + "x" * 1_000_000])
def test_a_body_that_is_almost_json_is_read_as_text(text: str) -> None:
    assert IDS.find(episode(text)) is None


def test_ids_of_every_letter_are_found_in_a_word() -> None:
    found = IDS.find(episode(name="rollout-2026-01-02-abc.jsonl"))
    assert found is not None
    assert found.sessions == (3,)
