"""What is exported is redacted again."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import subagent, tool, turn
from tests.fakes.redactors import NoRedactor, WordRedactor
from tests.transfer.contents import content
from tests.transfer.lakes import lake_of
from turnetl.base.model import GroupId
from turnetl.lake import turn_from_row
from turnetl.parsing.redaction import NAME_FIELDS, RUN_NAME_FIELDS
from turnetl.transfer.content import ExportContent, ExportedTurn
from turnetl.transfer.file_formats import to_jsonl
from turnetl.transfer.redaction import content_hash, redacted_content, redacted_tables, turns_frame

WORD = "hunter2"


def test_a_secret_in_any_text_is_redacted_and_counted() -> None:
    exported = content(f"the key is {WORD}")
    clean, count = redacted_content(exported, WordRedactor(WORD))
    assert WORD in to_jsonl(exported).decode()
    for one in clean.turns:
        assert WORD not in str(asdict(one.turn))
    for entity in clean.entities:
        assert WORD not in entity.name + entity.summary + str(entity.attributes)
    assert all(WORD not in fact.text for fact in clean.facts)
    assert count > 10


@pytest.mark.parametrize("field", NAME_FIELDS)
def test_an_id_or_name_that_a_parse_redacts_is_redacted_and_counted(field: str) -> None:
    values: dict[str, Any] = {field: f"a-{WORD}"}
    turns = [ExportedTurn(turn(native, **values), None, 0) for native in ("p0", "p1")]
    clean, count = redacted_content(ExportContent(turns), WordRedactor(WORD))
    assert [getattr(one.turn, field) for one in clean.turns] == ["a-[cut]"] * 2
    assert [one.turn.redactions - turn().redactions for one in clean.turns] == [1, 1]
    assert count == 2


def test_the_name_of_a_tool_is_redacted_as_in_a_parse() -> None:
    rows = turns_frame([turn(tool_calls=(tool(WORD, "in", "out"),))])
    ((clean, count),) = redacted_tables([rows], WordRedactor(WORD))
    (first,) = (turn_from_row(row) for row in clean.iter_rows(named=True))
    assert (first.tool_calls[0].name, count) == ("[cut]", 1)
    assert first.content_hash == content_hash(first)


def test_every_text_and_name_of_a_subagent_is_redacted() -> None:
    texts: dict[str, Any] = dict.fromkeys((*RUN_NAME_FIELDS, "prompt", "answer"), WORD)
    texts["archive"] = f"/{WORD}/agent.jsonl"
    run = replace(subagent("a1", tool(WORD, WORD, WORD)), **texts)
    clean, count = redacted_content(
        ExportContent([ExportedTurn(turn(subagents=(run,)), None, 0)]), WordRedactor(WORD)
    )
    (redacted,) = clean.turns[0].turn.subagents
    assert WORD not in str(asdict(redacted))
    assert (redacted.tool_calls[0].line, count > 0) == (2, True)


def test_without_secrets_the_content_stays_as_it_is() -> None:
    clean, count = redacted_content(content(), NoRedactor())
    assert clean == content()
    assert count == 0


@given(st.text(max_size=30), st.integers(0, 3))
def test_texts_stay_in_their_places(text: str, calls: int) -> None:
    steps = tuple(tool(f"t{number}", f"in {number}", f"{text}{number}") for number in range(calls))
    value = turn(tool_calls=steps, steering=(text, "b"), user_answers=("c",), cwd=None)
    frame = turns_frame([value])
    ((same, count),) = redacted_tables([frame], NoRedactor())
    assert count == 0
    assert same.equals(frame)


def test_a_redacted_turn_has_the_digest_of_its_new_content() -> None:
    rows = turns_frame([turn(user_text=f"key {WORD}"), turn("p1")])
    ((clean, count),) = redacted_tables([rows], WordRedactor(WORD))
    first, second = (turn_from_row(row) for row in clean.iter_rows(named=True))
    assert count == 1
    assert first.content_hash == content_hash(first) != turn().content_hash
    assert second == turn("p1")
    assert first.redactions == turn().redactions + 1


def test_the_digest_is_that_of_a_parse(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, "s1")
    for value in lake.turns(GroupId("shop")):
        assert content_hash(value) == value.content_hash
