"""The tokens of subagents whose rows are in no turn, in the result of every format."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from turnetl import formats
from turnetl.base import ids
from turnetl.formats.port import ParsedArchive

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS.parent / "data" / "archives"
START = datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC)


def read(data: bytes) -> ParsedArchive:
    found = formats.sniff(data)
    assert found is not None
    return found.read(data)


def tokens(parsed: ParsedArchive) -> list[tuple[str | None, int, int]]:
    assert parsed.subagent_usage is not None
    return [(one.model, one.input_tokens, one.output_tokens) for one in parsed.subagent_usage]


def claude(number: int, **message: object) -> dict[str, object]:
    """Return a row of a subagent of Claude Code that a model wrote."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    content = {"role": "assistant", "content": "Read.", "model": "opus", "usage": usage} | message
    ids = {"sessionId": "s1", "agentId": "a1", "isSidechain": True, "uuid": f"u{number}"}
    return {"type": "assistant", "timestamp": f"2026-03-0{number}T09:00:00Z", **ids} | {
        "message": content
    }


def lines(*rows: Mapping[str, object]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        (
            "bookshop/2026-03-24-payments/subagents/agent-a7c41fe.jsonl",
            "claude-haiku-4-5",
            (19, 168),
        ),
        ("shoebox/2026-02-21-first-steps.jsonl", "claude-sonnet-4-20250514", (14, 126)),
    ],
)
def test_the_subagents_of_the_sample_archives_used_these_tokens(
    name: str, model: str, expected: tuple[int, int]
) -> None:
    assert tokens(read((SAMPLES / name).read_bytes())) == [(model, *expected)]


def test_an_archive_without_rows_of_subagents_says_so() -> None:
    data = (TESTS / "archives" / "claude_code" / "streaming.jsonl").read_bytes()
    assert read(data).subagent_usage is None


def test_the_rows_of_a_message_count_once_with_its_last_counts() -> None:
    grown = {"input_tokens": 10, "output_tokens": 40}
    parsed = read(lines(claude(1, id="m1"), claude(1, id="m1", usage=grown), claude(1, id="m2")))
    assert tokens(parsed) == [("opus", 20, 45)]


def test_each_model_and_each_day_has_its_own_tokens() -> None:
    parsed = read(
        lines(claude(1), claude(2), claude(2, id="m1", model="haiku"), claude(2, id="m2"))
    )
    assert tokens(parsed) == [("haiku", 10, 5), ("opus", 10, 5), ("opus", 20, 10)]


def test_a_message_that_the_client_wrote_has_no_model_and_no_tokens() -> None:
    assert tokens(read(lines(claude(1, model="<synthetic>")))) == []


def test_the_subagent_of_opencode_used_these_tokens() -> None:
    data = (TESTS / "archives" / "opencode" / "subagent.json").read_bytes()
    assert tokens(read(data)) == [("claude-sonnet-4-5", 200, 40)]


def test_a_request_of_a_subagent_of_codex_counts_once() -> None:
    time = {"timestamp": "2026-03-02T09:00:01.000Z"}
    meta = {"id": "019cade5-1f00-7abc-8000-000000000010", "source": {"subagent": {}}}
    usage = {"input_tokens": 30, "output_tokens": 4}
    count = {
        "type": "token_count",
        "info": {"last_token_usage": usage, "total_token_usage": usage},
    }
    parsed = read(
        lines(
            {**time, "type": "session_meta", "payload": meta},
            {**time, "type": "turn_context", "payload": {"model": "gpt-5"}},
            {**time, "type": "event_msg", "payload": count},
            {**time, "type": "event_msg", "payload": count},
        )
    )
    assert tokens(parsed) == [("gpt-5", 30, 4)]


PARENT = "019cade0-1f00-7abc-8000-000000000001"
OWN = "019cade5-1f00-7abc-8000-000000000010"


def codex_context(turn_id: str | None) -> dict[str, object]:
    return {"type": "turn_context", "payload": {"model": "gpt-5", "turn_id": turn_id}}


def codex_count(last: int, total: int) -> dict[str, object]:
    usages = {"last_token_usage": last, "total_token_usage": total}
    info = {name: {"input_tokens": used, "output_tokens": 0} for name, used in usages.items()}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def codex_call(call: str) -> dict[str, object]:
    payload = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call}
    return {"type": "response_item", "payload": payload}


def forked_subagent(*, has_turn_ids: bool) -> ParsedArchive:
    """Return a subagent with the copied rows of its parent, which end with its first turn.

    Without ids of turns they end with a pause.
    """
    own_turn, parent_turn = (f"{OWN[:-1]}1", f"{PARENT[:-1]}2") if has_turn_ids else (None, None)
    record = {"response_id": "r1", "usage": {"input_tokens": 1000, "output_tokens": 0}}
    copied: list[dict[str, object]] = [
        {
            "type": "session_meta",
            "payload": {"id": OWN, "forked_from_id": PARENT, "source": {"subagent": {}}},
        },
        {"type": "session_meta", "payload": {"id": PARENT}},
        codex_context(parent_turn),
        {"type": "token_usage_record", "payload": record},
        codex_call("c1"),
        codex_count(1000, 1000),
        codex_call("c2"),
        codex_count(2000, 3000),
    ]
    added = [
        codex_context(own_turn),
        codex_count(2000, 3000),
        codex_call("c3"),
        codex_count(100, 3100),
    ]
    later = "2026-03-02T09:00:01.500Z" if has_turn_ids else "2026-03-02T09:00:09.000Z"
    return read(
        lines(
            *({"timestamp": "2026-03-02T09:00:01.000Z", **row} for row in copied),
            *({"timestamp": later, **row} for row in added),
        )
    )


@pytest.mark.parametrize("has_turn_ids", [True, False])
def test_a_forked_subagent_of_codex_has_no_tokens_of_its_parent(has_turn_ids: bool) -> None:
    assert tokens(forked_subagent(has_turn_ids=has_turn_ids)) == [("gpt-5", 100, 0)]


@pytest.mark.parametrize("has_turn_ids", [True, False])
def test_a_forked_subagent_of_codex_counts_none_of_its_parents_tool_calls(
    has_turn_ids: bool,
) -> None:
    assert forked_subagent(has_turn_ids=has_turn_ids).counts.tool_calls == 1


def test_the_rows_that_a_resumed_subagent_of_codex_repeats_count_once() -> None:
    rows: list[dict[str, object]] = [
        {"type": "session_meta", "payload": {"id": OWN, "source": {"subagent": {}}}},
        codex_context(None),
        codex_call("c1"),
        codex_count(1000, 1000),
        codex_call("c2"),
        codex_count(2000, 3000),
    ]
    added = [codex_call("c3"), codex_count(100, 3100)]
    time = "2026-03-02T09:00:01.000Z"
    parsed = read(lines(*({"timestamp": time, **row} for row in [*rows, *rows, *added])))
    assert parsed.counts.tool_calls == 3
    assert tokens(parsed) == [("gpt-5", 3100, 0)]


def test_a_response_of_a_subagent_of_gemini_has_its_tokens() -> None:
    response = {"id": "m1", "timestamp": START.isoformat(), "type": "gemini", "content": "One."}
    used = {"model": "gemini-3-pro", "tokens": {"input": 12, "output": 3}}
    header = {"sessionId": "s1", "projectHash": "h", "kind": "subagent"}
    parsed = read(lines(header, {**response, **used}))
    assert tokens(parsed) == [("gemini-3-pro", 12, 3)]
    assert parsed.subagent_usage is not None
    assert parsed.subagent_usage[0].started_at == START


@pytest.mark.parametrize(
    ("row", "session"),
    [
        (claude(1), "s1"),
        ({"type": "session_meta", "payload": {"id": OWN, "source": {"subagent": {}}}}, None),
        (
            {
                "type": "session_meta",
                "payload": {
                    "id": OWN,
                    "source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}},
                },
            },
            PARENT,
        ),
    ],
    ids=["claude", "codex", "codex with a parent"],
)
def test_a_subagent_names_the_session_that_started_it(
    row: Mapping[str, object], session: str | None
) -> None:
    time = {"timestamp": "2026-03-02T09:00:01.000Z"}
    later = [] if row["type"] == "assistant" else [codex_context(None), codex_count(30, 30)]
    [used] = read(lines(*({**time, **one} for one in [row, *later]))).subagent_usage or ()
    assert used.session == (ids.digest(session) if session else "")


def test_a_subagent_has_the_same_digest_in_every_archive_that_holds_it() -> None:
    def digests(*rows: Mapping[str, object]) -> set[str]:
        return {one.subagent for one in read(lines(*rows)).subagent_usage or ()}

    assert digests(claude(1), claude(2)) == digests(claude(1, id="m9"))
    assert digests(claude(1)) != digests(claude(1) | {"agentId": "a2"})
    assert all(len(one) == 32 for one in digests(claude(1)))
