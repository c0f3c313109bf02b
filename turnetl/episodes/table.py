"""Build the rows of an episodes table: each turn once, in order, marked and rendered.

Texts of an episodes table that its next version can keep: only changed turns are rendered.

Write the episodes table of a group, and count what it holds.

Classify turns by their main content, so that each is read with matching instructions.

The first kind that applies wins, in the order of `filters.KINDS`:

- error_heavy: at least 2 calls failed, and a fifth of all calls; or every call failed; or the user
  pasted a stack trace; or the prompt mentions a failure and the response does so at least twice.
- code_heavy: at least 3 calls changed files, and a fifth of all calls; or prompt and response
  contain 3 blocks of code or 1,500 characters of code, and these are a third of their text.
- tool_heavy: at least 10 calls.
- conversational: at most 1 call.
- ordinary: all other turns.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from hashlib import blake2b

import polars as pl

from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.episodes import chunking, text
from turnetl.episodes.filter_report import COUNTED, FilteredGroup, group_report
from turnetl.episodes.filters import (
    CODE_HEAVY,
    CONVERSATIONAL,
    ERROR_HEAVY,
    ORDINARY,
    TOOL_HEAVY,
    Filters,
)
from turnetl.episodes.partitions import partition
from turnetl.episodes.subagents import join_runs
from turnetl.lake import Lake
from turnetl.noise import EMPTY

RENDERED = ("kind", "text", "chunks", "chars_after", "tokens", "text_hash")
"""The columns of `schema.EPISODES` that are rendered."""
INPUTS = ("turn_id", "content_hash", "cwd", "closed_by", "places")
"""The columns of a turn that determine what is rendered: its content by a digest."""
_KEYS = (*INPUTS[:-1], pl.col("places").cast(pl.List(pl.String)).list.join(",").alias("places"))
_MAX_SPREAD = 4
"""Rows that may be read for each row that is kept."""


class RenderedTexts:
    """The rendered columns of a group's table."""

    def __init__(self, lake: Lake, group: GroupId) -> None:
        """Read which turns the table has, which must not be damaged."""
        lake.verify_episodes(group)
        self._lake, self._group = lake, group
        self._rows = lake.scan_episodes(group)
        with lake.reading_episodes(group):
            self._turns = self._rows.select(_KEYS).with_row_index("position").collect()

    def of(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Return `RENDERED` of the turns that the table has unchanged, with `index` in `turns`."""
        keys = turns.select(_KEYS).with_row_index()
        known = keys.join(
            self._turns, on=INPUTS, how="inner", nulls_equal=True, maintain_order="left"
        )
        first, last = known["position"].min(), known["position"].max()
        length = last - first + 1 if isinstance(first, int) and isinstance(last, int) else 0
        # Turns that are far apart in the table are rendered again: its rows may exceed the memory.
        if not isinstance(first, int) or length > _MAX_SPREAD * known.height:
            known, first, length = known.clear(), 0, 0
        with self._lake.reading_episodes(self._group):
            rows = self._rows.slice(first, length).select(RENDERED).collect()
        return rows[known["position"] - first].with_columns(known["index"])


def write_table(
    lake: Lake,
    group: GroupId,
    filters: Filters,
    metadata: Callable[[FilteredGroup], Mapping[str, str]],
    previous: RenderedTexts | None = None,
) -> FilteredGroup:
    """Write the table of a group from its turns files, with metadata from its report."""
    counted = [pl.DataFrame(schema=schema.EPISODES.polars).select(COUNTED)]
    batches = [batch.verified() for batch in lake.row_batches(group)]
    runs = join_runs(batches)

    @cache
    def report() -> FilteredGroup:
        unjoined = 0 if runs is None else len(runs.unjoined)
        return replace(group_report(group, pl.concat(counted)), unjoined_archives=unjoined)

    owners = () if runs is None else runs.runs["owner"].to_list()
    turns = partition(
        [batch.where(schema.IS_TURN) for batch in batches],
        filters.rules,
        lake.episodes_folder,
        with_subagents=owners,
    )
    with closing(turns):
        # The lake calls for the metadata after it has written the last row: only then is the report
        # complete.
        joined = turns if runs is None else map(runs.with_runs, turns)
        rows = _episodes(joined, filters, previous, counted)
        lake.write_episodes(group, rows, lambda: metadata(report()))
    return report()


def _episodes(
    partitions: Iterator[pl.DataFrame],
    filters: Filters,
    previous: RenderedTexts | None,
    counted: list[pl.DataFrame],
) -> Iterator[pl.DataFrame]:
    """Yield the episodes of each partition, and append the columns to count to `counted`."""
    for turns in partitions:
        rows = episode_rows(turns, filters, previous)
        counted.append(rows.select(COUNTED))
        yield rows


_SEPARATOR = "\0"
"""Joins the chunks of a text for its digest, so that other boundaries give another digest."""


def episode_rows(
    turns: pl.DataFrame, filters: Filters, previous: RenderedTexts | None = None
) -> pl.DataFrame:
    """Return the rows of `schema.EPISODES` for a partition of turns, each independently.

    `previous` has texts that were rendered with the same filters.
    """
    if "subagents" not in turns.columns:
        turns = turns.with_columns(_NO_SUBAGENTS)
    rendered = (
        rendered_columns(turns, filters)
        if previous is None
        else _completed(turns, filters, previous)
    )
    rows = turns.with_columns(rendered.get_columns()).with_columns(
        pl.coalesce("noise", pl.when(EMPTY.condition).then(pl.lit(EMPTY.name))).alias("noise"),
        (pl.col("chars") + pl.col("subagent_chars")).alias("chars_before"),
    )
    return rows.select(schema.EPISODES.polars.names()).cast(schema.EPISODES.polars)


_NO_SUBAGENTS = (
    pl.lit([], schema.EPISODES.polars["subagents"]).alias("subagents"),
    pl.lit(0).alias("subagent_chars"),
)


def _completed(turns: pl.DataFrame, filters: Filters, previous: RenderedTexts) -> pl.DataFrame:
    """Return `RENDERED` of all turns: of changed ones rendered, of the others as they were."""
    known = previous.of(turns)
    if known.is_empty():
        return rendered_columns(turns, filters)
    numbered = turns.with_row_index()
    changed = numbered.join(known.select("index"), on="index", how="anti", maintain_order="left")
    rendered = rendered_columns(changed, filters).with_columns(changed["index"])
    columns = known.columns
    complete = pl.concat([known, rendered.select(columns).cast(known.schema)])
    return complete.sort("index").drop("index").rechunk()


def rendered_columns(turns: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Return `RENDERED` of turns, given with at least the columns of `schema.TURNS`."""
    rendered = turns.select(turn_kinds(turns), render_texts(turns, filters))
    chunked = rendered.with_columns(chunking.chunk_texts(rendered["text"]))
    measured = chunked.with_columns(
        pl.col("text").str.len_chars().cast(pl.Int64).alias("chars_after"),
        chunking.estimate_expr(pl.col("text")).alias("tokens"),
        _digests(chunked),
    )
    return measured.select(RENDERED)


def render_texts(turns: pl.DataFrame, filters: Filters) -> pl.Series:
    """Return `text`, one per row, without what the patterns for its group and kind match."""
    if not filters.overrides or turns.is_empty():
        return text.render_turns(turns, filters.patterns)
    rows = turns.with_row_index("position").with_columns(turn_kinds(turns))
    by_kind = rows.partition_by("group_id", "kind", as_dict=True)
    rendered = [
        alike.select(
            "position", text.render_turns(alike, filters.patterns_for(GroupId(group), kind))
        )
        for (group, kind), alike in by_kind.items()
    ]
    return pl.concat(rendered).sort("position")["text"]


def turn_kinds(turns: pl.DataFrame) -> pl.Series:
    """Return `kind`, to which the calls of subagents count."""
    if text.has_subagents(turns):
        fields = (field.name for field in schema.TOOL_CALL.fields)
        calls = pl.element().struct.field("tool_calls").explode().drop_nulls().struct
        of_runs = pl.col("subagents").list.eval(pl.struct(calls.field(name) for name in fields))
        turns = turns.with_columns(pl.col("tool_calls").list.concat(of_runs))
    return turns.select(TURN_KIND.alias("kind"))["kind"]


def _digests(chunked: pl.DataFrame) -> pl.Series:
    in_chunks = pl.col("chunks").list.len() > 0
    joined = pl.when(in_chunks).then(pl.col("chunks").list.join(_SEPARATOR)).otherwise("text")
    texts = chunked.select(joined.cast(pl.Binary)).to_series()
    # Not polars' own hash: its value may change with the next release.
    digests = [blake2b(data, digest_size=16).hexdigest() for data in texts.to_list()]
    return pl.Series("text_hash", digests, dtype=pl.String)


_MIN_FAILED, _MIN_EDITS, _MANY_CALLS, _FEW_CALLS = 2, 3, 10, 1
"""Numbers of calls."""
_MIN_BLOCKS, _MIN_CODE_CHARS = 3, 1500
"""Blocks of code in prompt and response, and characters of these blocks."""
_PROMPT_CHARS, _TEXT_CHARS = 1000, 20_000
"""Characters of a prompt that are searched for failure words (a long plan mentions everything);
characters of prompt and of response that are searched for everything else."""

_TRACE = (
    r"Traceback \(most recent call last\)|(?m:^[ \t]+at [\w.$<>]+ ?\()"
    r"|(?m:^thread '.*' panicked at)|(?m:^goroutine \d+ \[)"
)
_FAILURE = (
    r"(?i-u:\b(?:errors?|exceptions?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|throws?|bugs?"
    r"|broken?|traceback|doesn'?t work|not working)\b)"
)
_FAILED_OUTPUT = (
    r"Traceback \(most recent call last\)|(?i-u:exit(?:ed with)? code:? [1-9])|(?-u:\bFAILED\b)"
    r"|(?-u:\b[1-9][0-9]* failed\b)"
)

_NAME, _RESULT = (pl.element().struct.field(name) for name in ("name", "result"))
_IS_FAILED = pl.element().struct.field("is_error") | (
    _NAME.str.contains(text.RUN_TOOLS) & _RESULT.str.contains(_FAILED_OUTPUT)
)
_IS_EDIT = _NAME.str.contains(text.EDIT_TOOLS)
_TOOL_CALLS = pl.col("tool_calls")
_CALLS = _TOOL_CALLS.list.len()
_FAILED = _TOOL_CALLS.list.eval(_IS_FAILED.cast(pl.UInt32)).list.sum()
_EDITED = _TOOL_CALLS.list.eval(_IS_EDIT.cast(pl.UInt32)).list.sum()
_TEXT = (
    pl.col("user_text").str.head(_TEXT_CHARS)
    + "\n"
    + pl.col("assistant_text").str.head(_TEXT_CHARS)
)
_BLOCKS = _TEXT.str.count_matches(text.FENCED)
_PROSE_CHARS = _TEXT.str.replace_all(text.FENCED, "").str.len_chars()
_CODE_CHARS = _TEXT.str.len_chars() - _PROSE_CHARS

# A fifth of all calls, rounded up; `_CALLS` occurs once, since polars evaluates it at each use.
_FIFTH = (_CALLS + 4) // 5
_FAILED_THRESHOLD = pl.when(_CALLS == 1).then(1).otherwise(pl.max_horizontal(_FIFTH, _MIN_FAILED))
_ABOUT_FAILURE = pl.col("user_text").str.head(_PROMPT_CHARS).str.contains(_FAILURE) & (
    pl.col("assistant_text").str.head(_TEXT_CHARS).str.count_matches(_FAILURE) > 1
)
_MANY_ERRORS = (
    (_FAILED >= _FAILED_THRESHOLD) | pl.col("user_text").str.contains(_TRACE) | _ABOUT_FAILURE
)
_MANY_EDITS = _EDITED.ge(pl.max_horizontal(_FIFTH, _MIN_EDITS))
_MUCH_CODE = ((_BLOCKS >= _MIN_BLOCKS) | (_CODE_CHARS >= _MIN_CODE_CHARS)) & (
    2 * _CODE_CHARS >= _PROSE_CHARS
)

TURN_KIND = (
    pl.when(_MANY_ERRORS)
    .then(pl.lit(ERROR_HEAVY))
    .when(_MANY_EDITS | _MUCH_CODE)
    .then(pl.lit(CODE_HEAVY))
    .when(_CALLS >= _MANY_CALLS)
    .then(pl.lit(TOOL_HEAVY))
    .when(_CALLS <= _FEW_CALLS)
    .then(pl.lit(CONVERSATIONAL))
    .otherwise(pl.lit(ORDINARY))
)
"""One of `KINDS`, from the columns of `schema.TURNS`."""
