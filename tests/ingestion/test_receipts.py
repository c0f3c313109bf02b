"""The receipt that ingestion builds for a turn."""

from dataclasses import replace

import pytest

from tests.builders import change, episode, tool
from tests.ingestion.fakes import PromptExtractor
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Turn
from turnetl.ingestion.commit import build_receipt

COPIED = (
    *("turn_id", "group_id", "format", "session_id", "ordinal", "parent_session_id", "agent_id"),
    *("content_hash", "started_at", "ended_at", "cwd", "git_branch"),
    *("archive", "first_line", "last_line"),
)


def built(turn: Turn) -> Receipt:
    assert turn.started_at is not None
    of_turn = change(replace(episode(), turn=turn))
    return build_receipt(of_turn, PromptExtractor(), run_id="run-1", now=turn.started_at)


def test_a_receipt_has_the_value_of_its_turn(subtests: pytest.Subtests) -> None:
    for column in COPIED:
        with subtests.test(column=column):
            turn = replace(
                episode().turn,
                format="codex",
                parent_session_id="s0",
                agent_id="a1",
                git_branch="fix",
            )
            assert getattr(built(turn), column) == getattr(turn, column)


def test_a_receipt_names_each_tool_of_its_turn_once_in_order_of_first_use() -> None:
    calls = (tool("Read", "a.py"), tool("Bash", "pytest"), tool("Read", "b.py"), tool("Edit", "b"))
    assert built(replace(episode().turn, tool_calls=calls)).tools == ("Read", "Bash", "Edit")
    assert built(episode().turn).tools == ()
