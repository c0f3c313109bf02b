"""What each tool answers: compact, dated, with lineage, and with what is no longer valid marked."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client

from tests.cli.archives import row, tool_call, write_archive
from tests.cli.command import run_in_process
from tests.cli.provider_setup import SESSION_START
from tests.mcp.clients import answer, quoted_text, text_of, with_client
from turnetl.base.text import estimate_tokens
from turnetl.mcp.arguments import MAX_TOKENS, MIN_TOKENS, TOOLS

TURN, FULL_TURN = "66185fa7", "66185fa7-4099-59d4-902f-2782174c6db2"
SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
LINEAGE = "bookshop/2026-03-03-checkout.jsonl:3-20"
OF_SUBAGENTS = ("67eb4ab2", "bbf0d89a")
"""Turns for which subagents worked: one of a known type, and one that a fact is from."""
LONG_ANSWER = "漢" * 3_000
_NEXT = re.compile(r"offset=(\d+)\.$")


def pages(folder: Path, tool: str, **arguments: object) -> list[str]:
    """Return all pages of an answer, each asked for as the one before says."""

    async def read(client: Client) -> list[str]:
        texts: list[str] = []
        offset = 0
        while True:
            result = await client.call_tool(tool, {**arguments, "offset": offset})
            texts.append(text_of(result))
            found = _NEXT.search(texts[-1])
            if found is None:
                return texts
            assert int(found[1]) > offset
            offset = int(found[1])

    return with_client(folder, read)


def test_five_tools_are_offered_read_only_with_short_schemas(filled: Path) -> None:
    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search", "open", "timeline", "fix", "list"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        described = " ".join(tool.model_dump_json(exclude_none=True) for tool in tools)
        assert estimate_tokens(described) < 2_000
        assert client.server_capabilities.resources is None
        assert client.server_capabilities.prompts is None

    with_client(filled, work)


def test_a_search_answers_with_dates_lineage_and_marks_what_is_no_longer_valid(
    filled: Path,
) -> None:
    text = answer(filled, "search", query="why did the checkout tests fail", limit=1)
    assert f"1. turn {TURN}  2026-03-03 09:12  project bookshop" in text
    assert LINEAGE in text
    assert (
        "failed with (since 2026-03-03 09:12, no longer valid: ended on 2026-03-03 09:12 by turn"
        in text
    )


def test_a_search_as_of_a_time_says_what_held_then(filled: Path) -> None:
    text = answer(filled, "search", entity="KeyError: 'price'", as_of="2026-03-03T09:12:40")
    assert "invalidated later, at 2026-03-03 09:12" in text
    assert "no longer valid" not in text


@pytest.mark.parametrize(
    ("arguments", "expected", "unexpected"),
    [
        ({"project": "shoebox"}, "project shoebox", "project bookshop"),
        ({"session": SESSION[:8]}, LINEAGE, "export.jsonl"),
        ({"file": "src/bookshop/cart.py"}, LINEAGE, "project shoebox"),
        ({"entity": "KeyError: 'price'"}, LINEAGE, "export.jsonl"),
        ({"since": "2026-05-05", "until": "2026-05"}, "export.jsonl", LINEAGE),
    ],
    ids=["project", "session", "file", "entity", "time"],
)
@pytest.mark.parametrize("tool", ["search", "timeline"])
def test_conditions_select_the_turns(
    arguments: dict[str, Any], expected: str, unexpected: str, tool: str, filled: Path
) -> None:
    text = answer(filled, tool, **arguments)
    assert expected in text
    assert unexpected not in text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (TURN, "turn"),
        (FULL_TURN, "turn"),
        ("2026-03-03-checkout.jsonl:5", "turn"),
        (f"data/archives/{LINEAGE}", "turn"),
        (SESSION, "session"),
        ("KeyError: 'price'", "entity"),
        ("src/bookshop/cart.py", "entity"),
    ],
)
def test_what_an_answer_names_can_be_opened(name: str, kind: str, filled: Path) -> None:
    text = answer(filled, "open", id=name)
    assert text.startswith(f"One {kind}, ")
    assert kind == "entity" or LINEAGE in text


def test_a_fact_is_opened_by_the_id_that_a_turn_lists(filled: Path) -> None:
    found = re.search(r"fact ([0-9a-f]{8}) failed with", answer(filled, "open", id=TURN))
    assert found is not None
    text = answer(filled, "open", id=found[1])
    assert text.startswith("One fact, ")
    assert "stated by: 2026-03-03 09:12  turn 66185fa7" in text


def test_an_opened_turn_has_its_prompt_answer_facts_and_steps(filled: Path) -> None:
    text = "\n".join(pages(filled, "open", id=TURN))
    for part in ("prompt:", "answer:", "facts:", "step Bash failed", f"turn {FULL_TURN}"):
        assert part in text


def test_what_a_subagent_did_is_marked_in_its_turn(filled: Path) -> None:
    known, unknown = ("\n".join(pages(filled, "open", id=turn)) for turn in OF_SUBAGENTS)
    assert "step Bash by subagent Explore:" in known
    assert "by a subagent" in unknown


def test_a_fix_says_what_resolved_the_error_and_where(filled: Path) -> None:
    text = answer(filled, "fix", error="E   KeyError: 'price'", limit=1)
    assert "fixed 2026-03-03 09:12" in text
    assert "`src/bookshop/cart.py`: in `Cart.add`, `self.lines.append(Line(" in text
    assert LINEAGE in text


def test_without_an_error_that_matches_a_fix_names_the_turns_of_a_search(filled: Path) -> None:
    text = answer(filled, "fix", error="KeyError: 'colour' in Cart.add", limit=1)
    assert text.startswith("No error in the graph matches. `search` finds these turns:")
    assert LINEAGE in text


def test_projects_and_sessions_are_listed_with_their_times(filled: Path) -> None:
    projects = quoted_text(answer(filled, "list"))
    assert projects.splitlines() == [
        "project bookshop  2026-03-03 09:12 to 2026-05-05 10:53  18 turns in 5 sessions",
        "project shoebox  2026-02-21 19:10 to 2026-04-19 11:39  9 turns in 3 sessions",
    ]
    sessions = answer(filled, "list", what="sessions", project="bookshop", until="2026-03-05")
    assert sessions.startswith("1 session, ")
    assert f"session {SESSION}  2026-03-03 09:12 to 09:34" in sessions
    assert "intent: The checkout tests fail" in sessions


CALLS: Sequence[tuple[str, dict[str, object]]] = [
    ("search", {"query": "tests"}),
    ("search", {"since": "2026"}),
    ("open", {"id": TURN}),
    ("open", {"id": SESSION}),
    ("open", {"id": "src/bookshop/cart.py"}),
    ("timeline", {}),
    ("fix", {"error": "KeyError"}),
    ("list", {}),
    ("list", {"what": "sessions"}),
]


def test_every_tool_is_among_the_calls() -> None:
    assert {tool.name for tool in TOOLS} == {name for name, _ in CALLS}


@pytest.mark.full
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_no_answer_is_longer_than_its_limit_and_the_pages_have_everything_once(
    tool: str, arguments: dict[str, object], filled: Path
) -> None:
    small = pages(filled, tool, **arguments, max_tokens=MIN_TOKENS)
    large = pages(filled, tool, **arguments, max_tokens=MAX_TOKENS)
    assert all(estimate_tokens(page) <= MIN_TOKENS for page in small)
    assert len(small) >= len(large)
    if not any("(cut)" in page for page in small):
        assert "\n".join(map(quoted_text, small)) == "\n".join(map(quoted_text, large))


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of a turn that failed and whose answer is long in tokens."""
    folder = tmp_path_factory.mktemp("mcp_wordy")
    failure = {
        "type": "tool_result",
        "tool_use_id": "call-a0",
        "content": "Exit code 1\nKeyError: 'price'",
        "is_error": True,
    }
    rows = [
        row("user", "Add a cart", "u0", SESSION_START),
        tool_call("a0", "Bash", SESSION_START, command="pytest -q"),
        row("user", [failure], "r0", SESSION_START),
        row("assistant", LONG_ANSWER, "a1", SESSION_START),
    ]
    archive = write_archive(folder / "a.jsonl", rows)
    assert run_in_process("backfill", archive, folder=folder).exit_code == 0
    return folder


@pytest.mark.full
@pytest.mark.parametrize(
    ("tool", "arguments", "characters"),
    [("open", {}, 3_000), ("fix", {"error": "KeyError: 'price'"}, 500)],
)
def test_pages_of_the_smallest_limit_have_every_character_of_an_answer(
    tool: str, arguments: dict[str, object], characters: int, wordy: Path
) -> None:
    if tool == "open":
        arguments = {"id": quoted_text(answer(wordy, "timeline")).split("turn ")[1][:8]}
    found = pages(wordy, tool, **arguments, max_tokens=MIN_TOKENS)
    assert all(estimate_tokens(page) <= MIN_TOKENS for page in found)
    assert not any("(cut)" in page for page in found)
    assert sum(page.count("漢") for page in found) >= characters


@pytest.mark.full
@given(max_tokens=st.integers(MIN_TOKENS, MAX_TOKENS), offset=st.integers(0, 40))
def test_every_limit_and_offset_gives_an_answer_within_the_limit(
    max_tokens: int, offset: int, filled: Path
) -> None:
    text = answer(filled, "open", id=TURN, max_tokens=max_tokens, offset=offset)
    assert estimate_tokens(text) <= max_tokens
