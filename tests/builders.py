"""Values for tests, complete but for what a test is about."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from turnetl import ids
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import (
    Change,
    ClosedBy,
    Entity,
    Episode,
    Fact,
    GroupContents,
    GroupId,
    GroupProfile,
    Receipt,
    SessionId,
    ToolCall,
    Turn,
    Usage,
)

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
GROUP = GroupId("shop")


def tool(name: str, call: str, outcome: str = "", *, is_error: bool = False) -> ToolCall:
    return ToolCall(name=name, input=call, result=outcome, is_error=is_error, ended_at=START)


def turn(native: str = "p0", **fields: Any) -> Turn:
    """A turn of the group `shop`; `fields` replace what is not right for the test."""
    group = fields.get("group_id", GROUP)
    whole = Turn(
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
    whole = replace(whole, **fields)
    said = ids.digest(whole.user_text, whole.assistant_text, repr(whole.tool_calls))
    return replace(whole, content_hash=said)


def episode(native: str = "p0", *, noise: str | None = None, **fields: Any) -> Episode:
    """A kept episode of `turn(native, ...)`."""
    of = turn(native, **fields)
    text = f"user: {of.user_text}\n\nassistant: {of.assistant_text}"
    return Episode(
        turn=of,
        noise=noise,
        copies=0,
        text=text,
        parts=(text,),
        chars_before=of.chars,
        chars_after=len(text),
        tokens=len(text) // 4,
        text_hash=ids.digest(text),
        kind="ordinary",
    )


def change(
    of: Episode, entities: Iterable[Entity] = (), facts: Iterable[Fact] = (), **fields: Any
) -> Change:
    """What the episode's turn does: all is new, and nothing stands before or after it."""
    whole = Change(
        episode=of,
        entities=tuple(entities),
        facts=tuple(facts),
        mentions=(),
        entities_before=(),
        facts_before=(),
        previous_turn=None,
        next_turn=None,
        usage=Usage(),
    )
    return replace(whole, **fields)


def receipt(of: Episode, **fields: Any) -> Receipt:
    """The receipt of the episode's turn, committed a day after it; it counts nothing."""
    said = of.turn
    assert said.started_at is not None
    whole = Receipt(
        turn_id=said.turn_id,
        group_id=said.group_id,
        session_id=said.session_id,
        ordinal=said.ordinal,
        run_id="run-1",
        content_hash=said.content_hash,
        text_hash=of.text_hash,
        parts=len(of.parts),
        recipe="recipe-1",
        committed_at=said.started_at + timedelta(days=1),
        started_at=said.started_at,
        ended_at=said.ended_at,
        archive=said.archive,
        first_line=said.first_line,
        last_line=said.last_line,
        usage=Usage(),
        entities_new=0,
        facts_new=0,
        facts_invalidated=0,
    )
    return replace(whole, **fields)


def empty_group(profile: GroupProfile | None = None) -> MirrorGroup:
    """The group `shop` before its first turn."""
    return MirrorGroup(GroupContents(GROUP, profile, (), (), (), {}))
