"""A reading as rows of the turns table: every text redacted first, then cut to its bounds.

Made column by column, the calls of all turns one behind another: of short turns a chat has
thousands, and values of a row of their own cost more than reading them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

import msgspec
import pyarrow as pa

from turnetl import ids, schema
from turnetl.formats.base import ParsedArchive, RawToolCall, RawTurn
from turnetl.lake import arrow_schema
from turnetl.model import GroupId
from turnetl.parse import excerpts

CALL = (600, 200)
"""Characters of a call's one line that are kept, at its head and at its tail."""

_encode = msgspec.json.Encoder().encode
_AT_ONCE = 1000
"""Turns."""
_TEXTS = pa.large_string()
_NAMED = ("session_id", "prompt_id", "parent_session_id", "agent_id", "model", "app_version")
_NAMES = attrgetter(*_NAMED)
_AS_THEY_ARE = (
    *("session_id", "ordinal", "prompt_id", "parent_session_id", "agent_id"),
    *("started_at", "ended_at", "model", "app_version", "closed_by"),
    *("first_line", "last_line", "first_byte", "last_byte"),
)
"""Columns that have the names of a turn's fields."""


class Redactor(Protocol):
    """What cuts secrets out."""

    @property
    def version(self) -> str:
        """Changes when the same text might be cut otherwise: archives are then read again."""
        ...

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        """Return the texts without secrets, and how many were cut out of each."""
        ...


@runtime_checkable
class RedactsMany(Redactor, Protocol):
    """What is quicker with the texts of many archives than with those of one after another."""

    def redact_each(self, archives: Sequence[list[str]]) -> list[tuple[list[str], list[int]]]:
        """Return what `redact` says of the texts of each archive."""
        ...


def redact_each(
    redactor: Redactor, archives: Sequence[list[str]]
) -> list[tuple[list[str], list[int]]]:
    """Return what a redactor says of the texts of each archive."""
    if isinstance(redactor, RedactsMany):
        return redactor.redact_each(archives)
    return [redactor.redact(of) for of in archives]


@dataclass(frozen=True, slots=True)
class Redacted:
    """A reading's turns with nothing secret in them."""

    turns: Sequence[RawTurn]
    chars: Sequence[int]
    """Of each turn as the archive has it."""
    cuts: Sequence[int]
    """Secrets cut out of each turn."""
    cwd: str | None


def texts(reading: ParsedArchive) -> list[str]:
    """Return all that may hold speech or paths: what `redacted` wants back without secrets."""
    found = [reading.cwd or ""]
    for turn in reading.turns:
        found += _texts(turn)
    return found + _names(reading)


def redacted(reading: ParsedArchive, clean: Sequence[str], cuts: Sequence[int]) -> Redacted:
    """Put the texts of `texts` back without secrets.

    Args:
        reading: the archive.
        clean: its texts, redacted.
        cuts: how many secrets were cut out of each.
    """
    turns, of_turns = reading.turns, [0] * len(reading.turns)
    if any(cuts):
        ends = list(accumulate((4 + _lists(turn) for turn in turns), initial=1))
        of_turns = [sum(cuts[at:to]) for at, to in pairwise(ends)]
        turns = [
            _without(turn, clean[at:to]) if cut_out else turn
            for turn, at, to, cut_out in zip(turns, ends, ends[1:], of_turns, strict=False)
        ]
        named = dict(zip(_names(reading), clean[ends[-1] :], strict=True))
        if any(cuts[ends[-1] :]):
            turns = [_renamed(turn, named) for turn in turns]
    return Redacted(turns, [turn.chars for turn in reading.turns], of_turns, clean[0] or None)


def rows(redacted: Redacted, format_name: str, group: GroupId, archive: str) -> pa.Table:
    """Return the rows of `schema.TURNS`, in the archive's order.

    Of a large archive there are several batches: one alone would take three times the memory while
    it grows.
    """
    turns = redacted.turns
    batches = (
        _batch(
            turns[at : at + _AT_ONCE],
            redacted.chars[at : at + _AT_ONCE],
            redacted.cuts[at : at + _AT_ONCE],
            (format_name, group, archive),
        )
        for at in range(0, len(turns), _AT_ONCE)
    )
    return pa.Table.from_batches(batches, arrow_schema(schema.TURNS))


def _texts(turn: RawTurn) -> list[str]:
    """Return all that may hold speech or paths, in the order of `_without`."""
    found = [turn.user_text, _joined(turn.assistant_texts), turn.cwd or "", turn.git_branch or ""]
    found += turn.steering
    found += turn.user_answers
    found += turn.subagent_prompts
    if turn.tool_calls:
        found += [tool.input for tool in turn.tool_calls]
        found += [tool.result for tool in turn.tool_calls]
    return found


def _lists(turn: RawTurn) -> int:
    """Return how many texts there are in the lists of a turn."""
    beside = len(turn.steering) + len(turn.user_answers) + len(turn.subagent_prompts)
    return beside + 2 * len(turn.tool_calls)


def _without(turn: RawTurn, clean: Sequence[str]) -> RawTurn:
    """Return the turn with the texts of `_texts` as they are without secrets."""
    rest = iter(clean[4:])
    lists = [
        [next(rest) for _ in of] for of in (turn.steering, turn.user_answers, turn.subagent_prompts)
    ]
    called = [replace(tool, input=next(rest)) for tool in turn.tool_calls]
    return replace(
        turn,
        user_text=clean[0],
        assistant_texts=[clean[1]],
        cwd=clean[2],
        git_branch=clean[3],
        steering=lists[0],
        user_answers=lists[1],
        subagent_prompts=lists[2],
        tool_calls=[replace(tool, result=next(rest)) for tool in called],
    )


def _names(reading: ParsedArchive) -> list[str]:
    """Return what is no speech, each once: nothing forbids an archive to have text there."""
    found = {name for turn in reading.turns for name in _NAMES(turn)}
    found.update(tool.name for turn in reading.turns for tool in turn.tool_calls)
    return sorted(name for name in found if name)


def _renamed(turn: RawTurn, named: Mapping[str, str]) -> RawTurn:
    names = zip(_NAMED, (named.get(name, name) for name in _NAMES(turn)), strict=True)
    tools = [replace(tool, name=named.get(tool.name, tool.name)) for tool in turn.tool_calls]
    return replace(turn, tool_calls=tools, **dict(names))


def _joined(said: Sequence[str]) -> str:
    return "\n\n".join(said)


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


def _batch(
    turns: Sequence[RawTurn],
    chars: Sequence[int],
    cuts: Sequence[int],
    of_all: tuple[str, GroupId, str],
) -> pa.RecordBatch:
    """Return the rows of some turns of an archive; `of_all` is its format, group and path."""
    format_name, group, archive = of_all
    tools = [tool for turn in turns for tool in turn.tool_calls]
    calls = [cut(one_line(tool.input), *CALL) for tool in tools]
    outcomes = [excerpts.result(tool) for tool in tools]
    assistant = [_joined(turn.assistant_texts) for turn in turns]
    usage = [turn.usage.values() for turn in turns]
    values: dict[str, Iterable[Any]] = {
        "turn_id": ids.turn_ids(group, format_name, [turn.native_id for turn in turns]),
        "group_id": [group] * len(turns),
        "format": [format_name] * len(turns),
        "user_text": [turn.user_text for turn in turns],
        "assistant_text": assistant,
        "cwd": [turn.cwd or None for turn in turns],
        "git_branch": [turn.git_branch or None for turn in turns],
        "input_tokens": [sum([given for given, _ in of]) if of else 0 for of in usage],
        "output_tokens": [sum([made for _, made in of]) if of else 0 for of in usage],
        "closed": [turn.closed_by is not None for turn in turns],
        "archive": [archive] * len(turns),
        "chars": chars,
        "redactions": cuts,
        "content_hash": _content_hashes(turns, assistant, calls, outcomes),
        **{name: [getattr(turn, name) for turn in turns] for name in _AS_THEY_ARE},
    }
    lists = {
        "steering": _list_of(_TEXTS, [turn.steering for turn in turns]),
        "user_answers": _list_of(_TEXTS, [turn.user_answers for turn in turns]),
        "subagent_prompts": _list_of(_TEXTS, [turn.subagent_prompts for turn in turns]),
        "tool_calls": _nested(
            [turn.tool_calls for turn in turns], _structs(tools, calls, outcomes)
        ),
    }
    columns = arrow_schema(schema.TURNS)
    arrays = [
        lists[column.name] if column.name in lists else pa.array(values[column.name], column.type)
        for column in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _list_of(kind: pa.DataType, lists: Sequence[Sequence[str]]) -> pa.Array:
    return _nested(lists, pa.array(chain.from_iterable(lists), kind))


def _nested(lists: Iterable[Sequence[object]], values: pa.Array) -> pa.Array:
    """Return values as lists of the lengths of these."""
    ends = pa.array(accumulate(map(len, lists), initial=0), pa.int64())
    kind = pa.large_list(pa.field("element", values.type))
    return pa.LargeListArray.from_arrays(ends, values, type=kind)


def _structs(
    tools: Sequence[RawToolCall], calls: Sequence[str], outcomes: Sequence[str]
) -> pa.StructArray:
    values: dict[str, Sequence[Any]] = {
        "name": [tool.name for tool in tools],
        "input": calls,
        "result": outcomes,
        "is_error": [tool.is_error for tool in tools],
        "ended_at": [tool.ended_at for tool in tools],
    }
    fields = list(arrow_schema(schema.TURNS).field("tool_calls").type.value_type)
    arrays = [pa.array(values[field.name], field.type) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _content_hashes(
    turns: Sequence[RawTurn],
    assistant: Sequence[str],
    calls: Sequence[str],
    outcomes: Sequence[str],
) -> list[str]:
    """Return the digest of what a person would read in each turn."""
    found = []
    at = 0
    for turn, answer in zip(turns, assistant, strict=True):
        said = turn.user_text, answer, turn.steering, turn.user_answers, turn.subagent_prompts
        did = [
            (tool.name, calls[place], outcomes[place], tool.is_error)
            for place, tool in enumerate(turn.tool_calls, at)
        ]
        at += len(did)
        found.append(ids.digest(_encode((said, did))))
    return found
