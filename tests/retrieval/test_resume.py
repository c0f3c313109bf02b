"""The command that continues a session in its agent."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from turnetl.retrieval.sessions import SessionSummary, resume_command, resumption

UUID = "6beda5ed-5df4-42a1-99b8-0364221dca9b"


@pytest.mark.parametrize(
    ("format_name", "session", "command"),
    [
        ("claude_code", UUID, f"claude --resume {UUID}"),
        ("codex", UUID, f"codex resume {UUID}"),
        ("gemini_json", UUID, f"gemini --resume {UUID}"),
        ("gemini_jsonl", UUID, f"gemini --resume {UUID}"),
        ("opencode", "ses_6f1e2d3c4b5a", "opencode -s ses_6f1e2d3c4b5a"),
        ("copilot", UUID, f"copilot --resume {UUID}"),
        ("cursor", UUID, f"cursor-agent --resume {UUID}"),
        ("qwen", UUID, f"qwen --resume {UUID}"),
        ("amp", f"T-{UUID}", f"amp threads continue T-{UUID}"),
    ],
)
def test_a_session_is_continued_in_its_directory(
    format_name: str, session: str, command: str
) -> None:
    receipt = builders.receipt(
        builders.episode(format=format_name, session_id=session, cwd="/home/dev/my shop")
    )
    assert resume_command(receipt) == f"cd '/home/dev/my shop' && {command}"


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "claude_web"},
        {"format": "sharegpt"},
        {"format": "gemini_stream"},
        {"agent_id": "a1"},
        {"session_id": "derived-0123"},
        {"session_id": f"{UUID}; rm -rf ~"},
    ],
)
def test_a_session_that_its_agent_does_not_know_has_no_command(fields: dict[str, str]) -> None:
    known = {"format": "claude_code", "session_id": UUID} | fields
    assert resume_command(builders.receipt(builders.episode(**known))) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"format": "claude_web"}, "it is of `claude_web`"),
        ({"agent_id": "a1"}, "it is of a subagent"),
        ({"session_id": "derived-0123"}, "`claude` gives no session an id like `derived-0123`"),
    ],
)
def test_why_no_program_continues_a_session_is_said(fields: dict[str, str], reason: str) -> None:
    known = {"format": "claude_code", "session_id": UUID} | fields
    first = builders.receipt(builders.episode(**known))
    session = SessionSummary(
        session_id=first.session_id,
        group_id=first.group_id,
        format=first.format,
        title="",
        started_at=first.started_at,
        ended_at=first.started_at,
        turns=1,
        resume=None,
        first=first,
    )
    found = resumption(session, program=lambda name: name, exists=lambda _: True)
    assert found.problem == f"no program continues this session: {reason}"


@pytest.mark.parametrize("directory", [None, "", "/home/[REDACTED:home_folder:ab]/shop", "/a\x1bb"])
def test_an_unknown_directory_is_left_out(directory: str | None) -> None:
    receipt = builders.receipt(builders.episode(session_id=UUID, cwd=directory))
    assert resume_command(receipt) == f"claude --resume {UUID}"


@given(directory=st.text(min_size=1), session=st.text(min_size=1))
def test_no_archive_can_add_a_word_to_the_command(directory: str, session: str) -> None:
    receipt = builders.receipt(builders.episode(session_id=session, cwd=directory))
    command = resume_command(receipt)
    assert command is None or shlex.split(command)[:3] == ["cd", directory, "&&"]
