"""Rows of the turns table from redacted turns. Texts are redacted first and truncated afterwards.

The rows are built column by column, with the tool calls of all turns in one array: a chat has
thousands of short turns, and building row by row costs more than parsing them. So does building the
40 columns of each small archive by themselves: many archives have their columns together.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from turnetl.base import ids, schema
from turnetl.base.edit_outline import split_lines
from turnetl.base.model import GroupId, Turn
from turnetl.base.text import AUTHORED
from turnetl.formats.kit.usage import Tokens, total
from turnetl.formats.port import RawToolCall, RawTurn, SubagentStart
from turnetl.lake import arrow_schema
from turnetl.lake.parquet_writer import UNIFORM_BYTES, ArrowRows
from turnetl.parsing.redaction import RedactedTurns, join_texts

INPUT_LIMITS = (600, 200)
"""Characters kept at the head and at the tail of a tool call's input."""
AUTHORED_LIMITS = (2400, 600)
"""The same of an input that `base.text.AUTHORED` matches."""
_AUTHORED = re.compile(AUTHORED)

_BATCH_TURNS = 1000
_TEXT = pa.large_string()
_SAME_NAME = (
    *("session_id", "ordinal", "prompt_id", "parent_session_id", "agent_id"),
    *("started_at", "ended_at", "model", "app_version", "closed_by"),
    *("first_line", "last_line", "first_byte", "last_byte"),
    "subagent_type",
)
"""Columns that have the name of a field of `RawTurn`."""
_NO_TOKENS = Tokens()
_same_of = attrgetter(*_SAME_NAME)


@dataclass(frozen=True, slots=True)
class ArchiveTurns:
    """The turns of one archive, and what all of its rows have in common."""

    redacted: RedactedTurns
    format: str
    group: GroupId

    def __len__(self) -> int:
        return len(self.redacted.turns)


def build_rows(archives: Sequence[ArchiveTurns]) -> list[ArrowRows]:
    """Return the rows of `schema.TURNS` of each archive, in archive order."""
    tables: list[ArrowRows] = []
    for together in _small_together(archives):
        is_shared = len(together) > 1 and any(map(len, together))
        batch = _batch(together) if is_shared else None
        # A slice has the size of its batch, which must not decide how the slice is encoded: the
        # bytes of an archive's file do not depend on other archives.
        if batch is not None and batch.get_total_buffer_size() < UNIFORM_BYTES:
            tables += _slices(batch, together)
        else:
            tables += map(_whole, together)
    return tables


def _small_together(archives: Sequence[ArchiveTurns]) -> Iterator[Sequence[ArchiveTurns]]:
    """Yield consecutive archives with no more turns than a batch; a larger archive is alone."""
    first = turns = 0
    for index, archive in enumerate(archives):
        if turns + len(archive) > _BATCH_TURNS and index > first:
            yield archives[first:index]
            first, turns = index, 0
        turns += len(archive)
    if archives:
        yield archives[first:]


def _whole(archive: ArchiveTurns) -> pa.Table:
    """Return the rows of an archive in batches: one alone grows to three times the memory."""
    whole = archive.redacted
    batches = []
    for start in range(0, len(archive), _BATCH_TURNS):
        part = slice(start, start + _BATCH_TURNS)
        piece = replace(
            whole,
            turns=whole.turns[part],
            chars=whole.chars[part],
            redactions=whole.redactions[part],
        )
        batches.append(_batch([replace(archive, redacted=piece)]))
    return pa.Table.from_batches(batches, arrow_schema(schema.TURNS))


def _slices(batch: pa.RecordBatch, archives: Sequence[ArchiveTurns]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each archive in a batch, which shares its memory with them."""
    first = 0
    for archive in archives:
        yield batch.slice(first, len(archive))
        first += len(archive)


def one_line(text: str) -> str:
    lines = text.splitlines()
    if len(lines) == 1:
        return text.strip()
    return " ".join(line for line in map(str.strip, lines) if line)


def truncate(text: str, head: int, tail: int) -> str:
    """Return head and tail of a text, with the number of omitted characters between them."""
    omitted = len(text) - head - tail
    if omitted <= 0:
        return text
    return f"{text[:head]} [... {omitted} characters left out ...] {text[-tail:]}"


def _batch(archives: Sequence[ArchiveTurns]) -> pa.RecordBatch:
    turns = [turn for archive in archives for turn in archive.redacted.turns]
    calls = [call for turn in turns for call in turn.tool_calls]
    inputs, outlines = _inputs(calls)
    results = [result_excerpt(call) for call in calls]
    assistant = [join_texts(turn.assistant_texts) for turn in turns]
    tokens = [[message.tokens() for message in turn.usage.values()] for turn in turns]
    scalars: dict[str, Iterable[Any]] = {
        **_scalar_columns(turns),
        **_token_columns(tokens),
        **_columns_of_archives(archives),
        "assistant_text": assistant,
        "content_hash": _content_hashes(turns, assistant, inputs, results),
    }
    lists = {
        "steering": _text_lists([turn.steering for turn in turns]),
        "user_answers": _text_lists([turn.user_answers for turn in turns]),
        "subagent_prompts": _text_lists([turn.subagent_prompts for turn in turns]),
        "tool_calls": _as_lists(
            [turn.tool_calls for turn in turns], _call_structs(calls, outlines, results)
        ),
        "subagent_calls": _text_lists([[*map(_start_text, one.subagent_calls)] for one in turns]),
        "call_lines": _call_lines(turns),
        "places": _places(turns),
        "usage": _as_lists(tokens, _message_structs(turns, tokens)),
    }
    arrays = [
        lists[name] if name in lists else pa.array(scalars[name], dtype)
        for name, dtype in _column_types()
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema.TURNS))


def _inputs(calls: Sequence[RawToolCall]) -> tuple[list[str], list[str]]:
    """Return the inputs without and with what the calls changed by definition.

    The digest of a turn has no part of the latter: it depends on what its session read before.
    """
    parts = [split_lines(call.input) for call in calls]
    names = (call.name for call in calls)
    inputs = [_input(name, one_line(text)) for name, (text, _) in zip(names, parts, strict=True)]
    return inputs, [text + outline for text, (_, outline) in zip(inputs, parts, strict=True)]


def _input(tool: str, text: str) -> str:
    if len(text) <= sum(INPUT_LIMITS):
        return text
    is_authored = _AUTHORED.search(f"{tool} {text[: AUTHORED_LIMITS[0]]}")
    return truncate(text, *(AUTHORED_LIMITS if is_authored else INPUT_LIMITS))


# Cached, because pyarrow creates the objects again at each access, for every archive.
@cache
def _column_types() -> tuple[tuple[str, pa.DataType], ...]:
    return tuple((column.name, column.type) for column in arrow_schema(schema.TURNS))


@cache
def _fields_of(column: str) -> tuple[tuple[pa.Field, str, pa.DataType], ...]:
    """Return the fields of the structs in a column of lists."""
    fields = arrow_schema(schema.TURNS).field(column).type.value_type
    return tuple((field, field.name, field.type) for field in fields)


@cache
def _list_type(dtype: pa.DataType) -> pa.DataType:
    return pa.large_list(pa.field("element", dtype))


def _columns_of_archives(archives: Sequence[ArchiveTurns]) -> Mapping[str, Sequence[Any]]:
    """Return the columns that depend on the archive of a turn, and those that it counted."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("turn_id", "group_id", "format", "archive", "chars", "redactions")
    }
    for one in archives:
        natives = [turn.native_id for turn in one.redacted.turns]
        columns["turn_id"] += ids.turn_ids(one.group, one.format, natives)
        columns["group_id"] += [one.group] * len(one)
        columns["format"] += [one.format] * len(one)
        columns["archive"] += [one.redacted.archive] * len(one)
        columns["chars"] += one.redacted.chars
        columns["redactions"] += one.redacted.redactions
    return columns


def _scalar_columns(turns: Sequence[RawTurn]) -> dict[str, Iterable[Any]]:
    return {
        "user_text": [turn.user_text for turn in turns],
        "cwd": [turn.cwd or None for turn in turns],
        "git_branch": [turn.git_branch or None for turn in turns],
        "closed": [turn.closed_by is not None for turn in turns],
        **dict(zip(_SAME_NAME, zip(*map(_same_of, turns), strict=True), strict=True)),
    }


def _token_columns(tokens: Sequence[Sequence[Tokens]]) -> dict[str, Iterable[Any]]:
    totals = [total(of_turn) if of_turn else _NO_TOKENS for of_turn in tokens]
    return dict(zip(schema.TOKEN_COUNTS, zip(*totals, strict=True), strict=True))


def _text_lists(lists: Sequence[Sequence[str]]) -> pa.Array:
    return _as_lists(lists, pa.array(chain.from_iterable(lists), _TEXT))


def _places(turns: Sequence[RawTurn]) -> pa.Array:
    places = [_places_in(turn) if turn.steering_at or turn.answers_at else [] for turn in turns]
    return _as_lists(places, pa.array(chain.from_iterable(places), pa.int64()))


def _places_in(turn: RawTurn) -> list[int]:
    """Return how many characters of the agent's joined texts precede each text of the user."""
    starts = [*accumulate((len(text) + 2 for text in turn.assistant_texts), initial=0)]
    return [
        min(starts[min(count, len(starts) - 1)], max(starts[-1] - 2, 0))
        for count in (*turn.steering_at, *turn.answers_at)
    ]


def _start_text(start: SubagentStart) -> str:
    return "\t".join((value or "").replace("\t", " ") for value in astuple(start))


def _call_lines(turns: Sequence[RawTurn]) -> pa.Array:
    of_runs = (turn.tool_calls if turn.subagent_type is not None else () for turn in turns)
    lines = [[call.line for call in calls] for calls in of_runs]
    return _as_lists(lines, pa.array(chain.from_iterable(lines), pa.int64()))


def _as_lists(lists: Iterable[Sequence[object]], values: pa.Array) -> pa.Array:
    """Return the values as lists with the lengths of `lists`."""
    offsets = pa.array(accumulate(map(len, lists), initial=0), pa.int64())
    return pa.LargeListArray.from_arrays(offsets, values, type=_list_type(values.type))


def _call_structs(
    calls: Sequence[RawToolCall], inputs: Sequence[str], results: Sequence[str]
) -> pa.StructArray:
    values: dict[str, Sequence[Any]] = {
        "name": [call.name for call in calls],
        "input": inputs,
        "result": results,
        "is_error": [call.is_error for call in calls],
        "ended_at": [call.ended_at for call in calls],
    }
    return _structs("tool_calls", values)


def _message_structs(
    turns: Sequence[RawTurn], tokens: Sequence[Sequence[Tokens]]
) -> pa.StructArray:
    """Return the API messages of all turns, with the tokens of each."""
    messages = [message for turn in turns for message in turn.usage.values()]
    models = [turn.model for turn in turns for _ in turn.usage]
    counts = [*chain.from_iterable(tokens)]
    values: dict[str, Sequence[Any]] = {
        "message": [ids.message_digest(key) for turn in turns for key in turn.usage],
        "model": [one.model or model for one, model in zip(messages, models, strict=True)],
        "day": [None if one.time is None else one.time.date() for one in messages],
        **{name: [one[at] for one in counts] for at, name in enumerate(schema.TOKEN_COUNTS)},
    }
    return _structs("usage", values)


def _structs(column: str, values: Mapping[str, Sequence[Any]]) -> pa.StructArray:
    """Return the structs in the lists of a column from the values of each field."""
    fields = _fields_of(column)
    arrays = [pa.array(values[name], dtype) for _, name, dtype in fields]
    return pa.StructArray.from_arrays(arrays, fields=[field for field, _, _ in fields])


def _content_hashes(
    turns: Sequence[RawTurn],
    assistant: Sequence[str],
    inputs: Sequence[str],
    results: Sequence[str],
) -> list[str]:
    hashes = []
    first = 0
    for turn, assistant_text in zip(turns, assistant, strict=True):
        calls = [
            (call.name, inputs[position], results[position], call.is_error)
            for position, call in enumerate(turn.tool_calls, first)
        ]
        first += len(calls)
        hashes.append(content_hash(turn, assistant_text, calls))
    return hashes


_encode = msgspec.json.Encoder().encode


def content_hash(
    turn: RawTurn | Turn, assistant_text: str, calls: Sequence[tuple[str, str, str, bool]]
) -> str:
    """Return a digest of a turn's texts and calls (name, input, result, `is_error`), as stored."""
    texts = (
        turn.user_text,
        assistant_text,
        turn.steering,
        turn.user_answers,
        turn.subagent_prompts,
    )
    return ids.digest(_encode((texts, calls)))


HEAD, TAIL = 1200, 800
"""Characters kept at the start and at the end. An error is most often at the end."""

_BETWEEN = 1200
"""Maximum characters of the lines kept from between head and tail."""
_LINE = 240
"""Maximum characters of such a line, and of a line that the cut is moved to the end of."""
_FAILURE_MARKERS = tuple(
    re.compile(marker)
    for marker in ("FAIL", "rror:", "ERROR", "\nE   ", "panic", "xception", r"##\[error\]",
                   r"error(?:\[|  )", r"\): error ", r"\.[a-z]{1,5}:\d+:\d+: ")
)  # fmt: skip
"""The last one is of compilers and linters, which name a place and need not say that it fails."""
_LINES_PER_MARKER = 4
"""Only the first lines with a marker are kept: they are the most informative."""
_READERS = ("read", "grep", "glob", "ls", "list_directory", "read_file", "read_many_files")
"""Tools that show files: a failure marker in their results is code."""


def result_excerpt(call: RawToolCall) -> str:
    """Return the excerpt of a result: head, tail, and lines between them that report a failure.

    A long result is mostly the output of a command, and an error may be anywhere in it. It is cut
    between lines: half a line tells something else than the line.
    """
    text = call.result
    if len(text) <= HEAD + TAIL:
        return text
    end = text.rfind("\n", HEAD - _LINE, HEAD) + 1 or HEAD
    start = len(text) - TAIL
    start = text.find("\n", start - 1, start + _LINE) + 1 or start
    failures = "" if call.name.lower() in _READERS else _failure_lines(text[end:start])
    omitted = f" [... {start - end - len(failures)} characters left out ...] "
    following = failures or "\n" * (text[start - 1] == "\n")
    return f"{text[:end]}{omitted}{following}{text[start:]}"


def _failure_lines(text: str) -> str:
    """Return the lines that report a failure, in their order, each on a line of its own."""
    starts = sorted({start for marker in _FAILURE_MARKERS for start in _line_starts(text, marker)})
    lines = dict.fromkeys(line for start in starts for line in _lines(text, start))
    selected, remaining = [], _BETWEEN
    for line in lines:
        remaining -= len(line) + 1
        if remaining < 0:
            break
        selected.append(line)
    return "\n" + "\n".join(selected) + "\n" if selected else ""


def _line_starts(text: str, marker: re.Pattern[str]) -> Iterator[int]:
    """Yield the start of each of the first lines with a marker."""
    found = marker.search(text)
    for _ in range(_LINES_PER_MARKER):
        if found is None:
            return
        yield text.rfind("\n", 0, found.start() + 1) + 1
        end = text.find("\n", found.start() + 1)
        found = marker.search(text, end) if end >= 0 else None


def _lines(text: str, start: int) -> Iterator[str]:
    """Yield a line, and the next one if it is indented and so continues the first."""
    end = text.find("\n", start)
    yield text[start:end][:_LINE] if end >= 0 else text[start : start + _LINE]
    if end >= 0 and text[end + 1 : end + 2] in {" ", "\t"}:
        next_end = text.find("\n", end + 1)
        yield text[end + 1 : next_end if next_end >= 0 else None][:_LINE]
