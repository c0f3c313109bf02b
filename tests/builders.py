"""Complete values for tests; a test replaces the fields that it is about."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from turnetl.base import ids
from turnetl.base.graph_model import GroupContents, GroupProfile, Receipt
from turnetl.base.model import (
    Change,
    ClosedBy,
    Entity,
    Episode,
    Fact,
    GroupId,
    SessionId,
    SubagentCall,
    SubagentRun,
    ToolCall,
    Turn,
    Usage,
)
from turnetl.base.schema import TOKEN_COUNTS
from turnetl.graph.mirror.group import MirrorGroup

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
GROUP = GroupId("shop")


def tool(name: str, call: str, result: str = "", *, is_error: bool = False) -> ToolCall:
    return ToolCall(name=name, input=call, result=result, is_error=is_error, ended_at=START)


def turn(native: str = "p0", **fields: Any) -> Turn:
    """Return a turn of the group `shop`; `fields` replace its default values."""
    group = fields.get("group_id", GROUP)
    default = Turn(
        turn_id=ids.turn_id(group, "claude_code", native),
        group_id=group,
        format="claude_code",
        session_id=SessionId("s1"),
        ordinal=0,
        prompt_id=native,
        parent_session_id=None,
        agent_id=None,
        started_at=START,
        ended_at=START + timedelta(minutes=2),
        user_text="Why does the checkout test fail?",
        assistant_text="The cart was empty because the fixture forgot an item.",
        steering=(),
        user_answers=(),
        tool_calls=(),
        subagent_prompts=(),
        model="claude-opus-4",
        cwd="/home/dev/shop",
        git_branch="main",
        app_version="2.1.12",
        input_tokens=1200,
        output_tokens=300,
        closed=True,
        closed_by=ClosedBy.NEXT_PROMPT,
        archive="archives/s1.jsonl",
        first_line=1,
        last_line=4,
        first_byte=0,
        last_byte=900,
        chars=96,
        redactions=0,
        content_hash="",
    )
    changed = replace(default, **fields)
    texts = (changed.user_text, changed.assistant_text, repr(changed.tool_calls))
    content_hash = ids.digest(*texts, *map(repr, changed.subagents))
    return replace(changed, content_hash=content_hash)


def episode(native: str = "p0", *, noise: str | None = None, **fields: Any) -> Episode:
    """Return an episode of `turn(native, ...)`, by default without noise."""
    built = turn(native, **fields)
    text = f"user: {built.user_text}\n\nassistant: {built.assistant_text}"
    return Episode(
        turn=built,
        noise=noise,
        copies=0,
        variants=0,
        text=text,
        chunks=(text,),
        chars_before=built.chars,
        chars_after=len(text),
        tokens=len(text) // 4,
        text_hash=ids.digest(text),
        kind="ordinary",
    )


def change(
    episode: Episode, entities: Iterable[Entity] = (), facts: Iterable[Fact] = (), **fields: Any
) -> Change:
    """Return the change of the episode's turn: everything is new, without neighbouring turns."""
    default = Change(
        episode=episode,
        entities=tuple(entities),
        facts=tuple(facts),
        mentions=(),
        entities_before=(),
        facts_before=(),
        previous_turn=None,
        next_turn=None,
        usage=Usage(),
    )
    return replace(default, **fields)


def receipt(episode: Episode, **fields: Any) -> Receipt:
    """Return the receipt of the episode's turn, committed a day after it, with all counts zero."""
    turn = episode.turn
    assert turn.started_at is not None
    default = Receipt(
        turn_id=turn.turn_id,
        group_id=turn.group_id,
        format=turn.format,
        session_id=turn.session_id,
        ordinal=turn.ordinal,
        parent_session_id=turn.parent_session_id,
        agent_id=turn.agent_id,
        run_id="run-1",
        content_hash=turn.content_hash,
        text_hash=episode.text_hash,
        chunks=len(episode.chunks),
        extractor="structural",
        model=None,
        recipe="recipe-1",
        committed_at=turn.started_at + timedelta(days=1),
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        cwd=turn.cwd,
        git_branch=turn.git_branch,
        tools=tuple(dict.fromkeys(call.name for call in turn.tool_calls)),
        archive=turn.archive,
        first_line=turn.first_line,
        last_line=turn.last_line,
        usage=Usage(),
        entities_new=0,
        facts_new=0,
        facts_invalidated=0,
    )
    return replace(default, **fields)


def empty_group(profile: GroupProfile | None = None) -> MirrorGroup:
    """Return the group `shop` before its first turn."""
    return MirrorGroup(GroupContents(GROUP, profile, (), (), (), {}))


def subagent(agent_id: str = "a1", *calls: ToolCall, **fields: Any) -> SubagentRun:
    """Return a run of a subagent, whose calls are on the lines from 2 on."""
    values: dict[str, Any] = {
        "agent_id": agent_id,
        "type": "Explore",
        "call_id": "call-1",
        "started_by": None,
        "prompt": "find it",
        "answer": "found it",
        "tool_calls": tuple(
            SubagentCall(one.name, one.input, one.result, one.is_error, one.ended_at, line)
            for line, one in enumerate(calls, 2)
        ),
        "model": "small",
        "started_at": None,
        "ended_at": None,
        **dict.fromkeys(TOKEN_COUNTS, 0),
        "archive": "/archives/agent-a1.jsonl",
        "first_line": 1,
        "last_line": 1 + len(calls),
    }
    return SubagentRun(**values | fields)
