"""A reading as rows of the turns table: every text redacted first, then cut to its bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from turnetl import ids, schema
from turnetl.formats.base import RawTurn, Reading, ToolUse
from turnetl.lake import arrow_schema
from turnetl.model import GroupId

CALL = (600, 200)
"""Characters of a call's one line that are kept, at its head and at its tail."""
OUTCOME = (1200, 800)
"""Characters of an outcome that are kept: errors stand at the end more often than not."""


class Redacts(Protocol):
    """What cuts secrets out."""

    @property
    def version(self) -> str:
        """Changes when the same text might be cut otherwise: archives are then read again."""
        ...

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        """Return the texts without secrets, and how many were cut out of each."""
        ...


@dataclass(frozen=True, slots=True)
class Redacted:
    """A reading's turns with nothing secret in them."""

    turns: list[tuple[RawTurn, "_Texts"]]
    cwd: str | None


@dataclass(slots=True)
class _Texts:
    """A turn's texts after redaction."""

    user_text: str
    assistant_text: str
    cwd: str | None
    git_branch: str | None
    steering: list[str]
    answers: list[str]
    subagents: list[str]
    calls: list[str]
    outcomes: list[str]
    redactions: int


def redacted(reading: Reading, redactor: Redacts) -> Redacted:
    """Cut the secrets out of all texts at once: one scan an archive."""
    texts = [reading.cwd or ""]
    for turn in reading.turns:
        texts += _texts(turn)
    clean, cuts = redactor.redact(texts)
    rest = zip(clean, cuts, strict=True)
    cwd = next(rest)[0] or None
    return Redacted([(turn, _taken(turn, rest)) for turn in reading.turns], cwd)


def rows(redacted: Redacted, format_name: str, group: GroupId, archive: str) -> pa.Table:
    """Return the rows of `schema.TURNS`, in the archive's order.

    Made as one array of structs: of all ways to make rows this nested the fastest by far.
    """
    made = [
        _row(turn, texts)
        | {
            "turn_id": ids.turn_id(group, format_name, turn.native),
            "group_id": group,
            "format": format_name,
            "archive": archive,
        }
        for turn, texts in redacted.turns
    ]
    kind = pa.struct(list(arrow_schema(schema.TURNS)))
    return pa.Table.from_struct_array(pa.array(made, type=kind))


def _texts(turn: RawTurn) -> list[str]:
    """Return all that may hold speech or paths, in the order of `_taken`."""
    return [
        turn.user_text,
        "\n\n".join(turn.said),
        turn.cwd or "",
        turn.git_branch or "",
        *turn.steering,
        *turn.answers,
        *turn.subagents,
        *(tool.input for tool in turn.tools),
        *(tool.outcome for tool in turn.tools),
    ]


def _taken(turn: RawTurn, rest: Iterator[tuple[str, int]]) -> _Texts:
    cuts = 0

    def take(count: int) -> list[str]:
        nonlocal cuts
        pairs = [next(rest) for _ in range(count)]
        cuts += sum(cut for _, cut in pairs)
        return [text for text, _ in pairs]

    user_text, assistant_text, cwd, git_branch = take(4)
    return _Texts(
        user_text,
        assistant_text,
        cwd or None,
        git_branch or None,
        take(len(turn.steering)),
        take(len(turn.answers)),
        take(len(turn.subagents)),
        [cut(one_line(text), *CALL) for text in take(len(turn.tools))],
        [cut(text, *OUTCOME) for text in take(len(turn.tools))],
        cuts,
    )


def one_line(text: str) -> str:
    """Return the lines of a text behind each other."""
    lines = (line.strip() for line in text.splitlines())
    return " ".join(line for line in lines if line)


def cut(text: str, head: int, tail: int) -> str:
    """Return head and tail of a text, and between them how many characters were left out."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]} [... {left_out} characters left out ...] {text[-tail:]}"


def _row(turn: RawTurn, texts: _Texts) -> dict[str, Any]:
    """Return the columns that an archive alone decides."""
    tools = [_tool(*parts) for parts in zip(turn.tools, texts.calls, texts.outcomes, strict=True)]
    return {
        "session_id": turn.session_id,
        "ordinal": turn.ordinal,
        "prompt_id": turn.prompt_id,
        "parent_session_id": turn.parent_session_id,
        "agent_id": turn.agent_id,
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "user_text": texts.user_text,
        "assistant_text": texts.assistant_text,
        "steering": texts.steering,
        "answers": texts.answers,
        "tools": tools,
        "subagents": texts.subagents,
        "model": turn.model,
        "cwd": texts.cwd,
        "git_branch": texts.git_branch,
        "app_version": turn.app_version,
        "input_tokens": sum(given for given, _ in turn.usage.values()),
        "output_tokens": sum(made for _, made in turn.usage.values()),
        "closed": turn.closed_by is not None,
        "closed_by": turn.closed_by,
        "first_line": turn.first_line,
        "last_line": turn.last_line,
        "first_byte": turn.first_byte,
        "last_byte": turn.last_byte,
        "chars": turn.chars,
        "redactions": texts.redactions,
        "content_hash": _content_hash(texts, tools),
    }


def _tool(use: ToolUse, call: str, outcome: str) -> dict[str, Any]:
    return {
        "name": use.name,
        "input": call,
        "outcome": outcome,
        "is_error": use.is_error,
        "ended_at": use.ended_at,
    }


def _content_hash(texts: _Texts, tools: list[dict[str, Any]]) -> str:
    """Return the digest of what a person would read in the turn."""
    said = texts.user_text, texts.assistant_text, texts.steering, texts.answers, texts.subagents
    did = [(tool["name"], tool["input"], tool["outcome"], tool["is_error"]) for tool in tools]
    return ids.digest(msgspec.json.encode((said, did)))
