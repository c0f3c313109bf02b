"""A reading as rows of the turns table: every text redacted first, then cut to its bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from turnetl import ids, schema
from turnetl.formats.base import RawTurn, Reading
from turnetl.lake import arrow_schema
from turnetl.model import GroupId

CALL = (600, 200)
"""Characters of a call's one line that are kept, at its head and at its tail."""
OUTCOME = (1200, 800)
"""Characters of an outcome that are kept: errors stand at the end more often than not."""

_AT_ONCE = 1000
_FEW = 24
"""Turns."""


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
    ends = []
    for turn in reading.turns:
        texts += _texts(turn)
        ends.append(len(texts))
    clean, cuts = redactor.redact(texts)
    spans = zip(reading.turns, [1, *ends], ends, strict=False)
    turns = [(turn, _taken(turn, clean[at:to], sum(cuts[at:to]))) for turn, at, to in spans]
    return Redacted(turns, clean[0] or None)


def rows(redacted: Redacted, format_name: str, group: GroupId, archive: str) -> pa.Table:
    """Return the rows of `schema.TURNS`, in the archive's order.

    Of a large archive there are several batches: one alone would take three times the memory while
    it grows.
    """
    turns = redacted.turns
    made = (
        [
            _row(turn, texts, format_name, group, archive)
            for turn, texts in turns[at : at + _AT_ONCE]
        ]
        for at in range(0, len(turns), _AT_ONCE)
    )
    return pa.Table.from_batches(map(_batch, made), arrow_schema(schema.TURNS))


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return rows as columns: few by way of structs, many column by column, the faster for each."""
    columns = arrow_schema(schema.TURNS)
    if len(rows) < _FEW:
        structs = [dict(zip(columns.names, row, strict=True)) for row in rows]
        return pa.RecordBatch.from_struct_array(pa.array(structs, type=_kind()))
    values = zip(zip(*rows, strict=True), columns.types, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(*of) for of in values], schema=columns)


@cache
def _kind() -> pa.DataType:
    return pa.struct(list(arrow_schema(schema.TURNS)))


def _texts(turn: RawTurn) -> list[str]:
    """Return all that may hold speech or paths, in the order of `_taken`."""
    texts = [turn.user_text, "\n\n".join(turn.said), turn.cwd or "", turn.git_branch or ""]
    texts += turn.steering
    texts += turn.answers
    texts += turn.subagents
    texts += [tool.input for tool in turn.tools]
    texts += [tool.outcome for tool in turn.tools]
    return texts


def _taken(turn: RawTurn, clean: list[str], cuts: int) -> _Texts:
    answers = 4 + len(turn.steering)
    subagents = answers + len(turn.answers)
    calls = subagents + len(turn.subagents)
    outcomes = calls + len(turn.tools)
    return _Texts(
        user_text=clean[0],
        assistant_text=clean[1],
        cwd=clean[2] or None,
        git_branch=clean[3] or None,
        steering=clean[4:answers],
        answers=clean[answers:subagents],
        subagents=clean[subagents:calls],
        calls=[cut(one_line(text), *CALL) for text in clean[calls:outcomes]],
        outcomes=[cut(text, *OUTCOME) for text in clean[outcomes:]],
        redactions=cuts,
    )


def one_line(text: str) -> str:
    """Return the lines of a text behind each other."""
    lines = text.splitlines()
    if len(lines) == 1:
        return text.strip()
    return " ".join(line for line in map(str.strip, lines) if line)


def cut(text: str, head: int, tail: int) -> str:
    """Return head and tail of a text, and between them how many characters were left out."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]} [... {left_out} characters left out ...] {text[-tail:]}"


def _row(
    turn: RawTurn, texts: _Texts, format_name: str, group: GroupId, archive: str
) -> tuple[Any, ...]:
    """Return the values of a row in the order of the columns."""
    tools = [
        {
            "name": use.name,
            "input": call,
            "outcome": outcome,
            "is_error": use.is_error,
            "ended_at": use.ended_at,
        }
        for use, call, outcome in zip(turn.tools, texts.calls, texts.outcomes, strict=True)
    ]
    usage = turn.usage.values()
    return (
        ids.turn_id(group, format_name, turn.native),
        group,
        format_name,
        turn.session_id,
        turn.ordinal,
        turn.prompt_id,
        turn.parent_session_id,
        turn.agent_id,
        turn.started_at,
        turn.ended_at,
        texts.user_text,
        texts.assistant_text,
        texts.steering,
        texts.answers,
        tools,
        texts.subagents,
        turn.model,
        texts.cwd,
        texts.git_branch,
        turn.app_version,
        sum([given for given, _ in usage]) if usage else 0,
        sum([made for _, made in usage]) if usage else 0,
        turn.closed_by is not None,
        turn.closed_by,
        archive,
        turn.first_line,
        turn.last_line,
        turn.first_byte,
        turn.last_byte,
        turn.chars,
        texts.redactions,
        _content_hash(turn, texts),
    )


def _content_hash(turn: RawTurn, texts: _Texts) -> str:
    """Return the digest of what a person would read in the turn."""
    said = texts.user_text, texts.assistant_text, texts.steering, texts.answers, texts.subagents
    did = [
        (use.name, call, outcome, use.is_error)
        for use, call, outcome in zip(turn.tools, texts.calls, texts.outcomes, strict=True)
    ]
    return ids.digest(msgspec.json.encode((said, did)))
