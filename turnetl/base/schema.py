"""The columns of every table, each with a description. Writers and readers check them.

Times are UTC with microseconds. A column is not nullable unless its description says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

TIME = pl.Datetime("us", "UTC")
TEXTS = pl.List(pl.String)
_CALL_FIELDS: Mapping[str, Any] = {
    "name": pl.String,
    "input": pl.String,
    "result": pl.String,
    "is_error": pl.Boolean,
    "ended_at": TIME,
}
TOOL_CALL = pl.Struct(_CALL_FIELDS)

TOKEN_COUNTS = (
    *("input_tokens", "cache_write_tokens", "cache_read_tokens"),
    *("output_tokens", "reasoning_tokens"),
)
"""The columns with counts of tokens, in the order of `formats.kit.usage.Tokens`."""
MESSAGE_USAGE = pl.Struct(
    {"message": pl.String, "model": pl.String, "day": pl.Date}
    | dict.fromkeys(TOKEN_COUNTS, pl.Int64)
)
"""`message` is a digest of the message's id; `day` is in UTC."""
_RUN_FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(("agent_id", "type", "call_id", "started_by", "prompt", "answer"), pl.String),
    "tool_calls": pl.List(pl.Struct({**_CALL_FIELDS, "line": pl.Int64})),
    "model": pl.String,
    "started_at": TIME,
    "ended_at": TIME,
    **dict.fromkeys(TOKEN_COUNTS, pl.Int64),
    "archive": pl.String,
    "first_line": pl.Int64,
    "last_line": pl.Int64,
}
SUBAGENT_RUN = pl.Struct(_RUN_FIELDS)
"""The fields of `model.SubagentRun`."""


@dataclass(frozen=True)
class Column:
    name: str
    dtype: pl.DataType | type[pl.DataType]
    description: str


@dataclass(frozen=True, eq=False)
class Table:
    """A table's name, the version of its schema, and its columns in order."""

    name: str
    version: int
    columns: tuple[Column, ...]
    later_columns: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Older versions that are read, each with the columns that it lacks: these are null."""

    @cached_property
    def polars(self) -> pl.Schema:
        return pl.Schema({column.name: column.dtype for column in self.columns})


_CACHE_COLUMNS = frozenset({"cache_write_tokens", "cache_read_tokens", "reasoning_tokens", "usage"})
_LINK_COLUMNS = frozenset({"subagent_calls", "subagent_type", "call_lines"})
_LINKS = (
    Column("subagent_calls", TEXTS, "calls of subagents: id, subagent, type, by tabs"),
    Column("subagent_type", pl.String, "type of the subagent whose run it is; null: it is a turn"),
    Column("call_lines", pl.List(pl.Int64), "lines of the tool calls of a run; empty for a turn"),
)
"""Of a turns file, which also has the runs of subagents that its archive records: a row each, with
the session of the agent that started it, and the call as `prompt_id`. `Lake.scan_turns` leaves
these out."""
IS_TURN = pl.col("subagent_type").is_null()
"""Whether a row of a turns file is a turn."""
TURNS = Table(
    "turns",
    6,
    (
        Column("turn_id", pl.String, "uuid5 of group, format and the prompt's native id"),
        Column("group_id", pl.String, "Graphiti's `group_id`, one for each project by default"),
        Column("format", pl.String, "archive format: `claude_code`, `codex`, ..."),
        Column("session_id", pl.String, "native id of the session"),
        Column("ordinal", pl.Int32, "position in the session within this archive, from 0"),
        Column("prompt_id", pl.String, "native id of the prompt; null if the format has none"),
        Column("parent_session_id", pl.String, "session that this one continues; null if none"),
        Column("agent_id", pl.String, "native id of the subagent; null for the main agent"),
        Column("started_at", TIME, "time of the prompt; null if the archive has no times"),
        Column("ended_at", TIME, "time of the turn's last row; null if there is none"),
        Column("user_text", pl.String, "the prompt, redacted"),
        Column("assistant_text", pl.String, "the agent's texts joined by blank lines, redacted"),
        Column("steering", TEXTS, "messages that the user typed while the agent worked, in order"),
        Column("user_answers", TEXTS, "texts of the user inside tool results, in order"),
        Column(
            "places",
            pl.List(pl.Int64),
            "characters of `assistant_text` before each of `steering`, then each of `user_answers`;"
            " null: unknown",
        ),
        Column("tool_calls", pl.List(TOOL_CALL), "tool calls in order; long results as excerpts"),
        Column("subagent_prompts", TEXTS, "prompts given to subagents, in order"),
        Column("model", pl.String, "last model in the turn; null if none"),
        Column("cwd", pl.String, "last working directory in the turn, redacted; null if none"),
        Column("git_branch", pl.String, "last git branch in the turn, redacted; null if none"),
        Column("app_version", pl.String, "last version of the agent in the turn; null if none"),
        Column("input_tokens", pl.Int64, "tokens of prompts without the cache"),
        Column("cache_write_tokens", pl.Int64, "tokens written to the cache; null: not recorded"),
        Column("cache_read_tokens", pl.Int64, "tokens read from the cache; null: not recorded"),
        Column("output_tokens", pl.Int64, "tokens of responses, with reasoning"),
        Column("reasoning_tokens", pl.Int64, "those of reasoning; null: not recorded"),
        Column("usage", pl.List(MESSAGE_USAGE), "tokens of each API message, in order"),
        Column("closed", pl.Boolean, "whether the archive shows that the turn is closed"),
        Column("closed_by", pl.String, "next_prompt, session_end or interrupted; null if open"),
        Column("archive", pl.String, "absolute path of the archive, redacted"),
        Column("first_line", pl.Int64, "line of the prompt, from 1"),
        Column("last_line", pl.Int64, "last line of the turn"),
        Column("first_byte", pl.Int64, "offset of the first line's first byte"),
        Column("last_byte", pl.Int64, "offset after the last line's last byte"),
        Column("chars", pl.Int64, "characters of all texts, tool inputs and full results"),
        Column("redactions", pl.Int32, "number of redacted secrets"),
        Column("content_hash", pl.String, "digest of the redacted content"),
        *_LINKS,
    ),
    {
        2: _CACHE_COLUMNS | _LINK_COLUMNS | {"places"},
        3: _LINK_COLUMNS | {"places"},
        4: frozenset({"places"}),
        5: frozenset(),
    },
)
"""Lines and bytes refer to the uncompressed archive in UTF-8. For a session in an OpenCode store,
they refer to its files concatenated in the order of `parsing.opencode_store.session_files`.

Whether an open turn is closed, because its session is inactive or the agent crashed, depends on the
clock. `ingestion.candidates` decides it; no table records it."""

TURN_COLUMNS = tuple(column for column in TURNS.columns if column not in _LINKS)
"""The columns of a turn; the others of `TURNS` are of the runs of subagents."""

EPISODES = Table(
    "episodes",
    9,
    (
        *TURN_COLUMNS,
        Column("subagents", pl.List(SUBAGENT_RUN), "runs of subagents for the turn, oldest first"),
        Column("noise", pl.String, "rule that marks the turn as noise; null if it is kept"),
        Column("copies", pl.Int32, "number of other archives that hold the same turn"),
        Column(
            "variants",
            pl.Int32,
            "number of those that hold it with another text, which is not kept",
        ),
        Column("text", pl.String, "episode body, as it is sent"),
        Column("chunks", TEXTS, "`text` in chunks of one prompt each; empty: it is one chunk"),
        Column("chars_before", pl.Int64, "`chars` of the turn and of the runs of its subagents"),
        Column("chars_after", pl.Int64, "characters of `text`"),
        Column("tokens", pl.Int64, "estimated tokens of `text`"),
        Column("text_hash", pl.String, "digest of `chunks`"),
        Column("kind", pl.String, "main content of the turn: `error_heavy`, `code_heavy`, ..."),
    ),
    {
        5: _CACHE_COLUMNS | {"variants", "subagents", "places"},
        6: frozenset({"variants", "subagents", "places"}),
        7: frozenset({"subagents", "places"}),
        8: frozenset({"places"}),
    },
)
"""One row for each turn of the group, sorted by (started_at, session_id, ordinal). `ordinal` counts
within the session over all of its archives. A turn that is open in its archive is closed by
`next_prompt` if another archive continues its session."""

_USAGE = (
    Column("prompt_tokens", pl.Int64, "tokens of all prompts"),
    Column("cached_tokens", pl.Int64, "prompt tokens that were cache hits at the provider"),
    Column("completion_tokens", pl.Int64, "tokens of all responses"),
    Column("seconds", pl.Float64, "time spent waiting for responses"),
    Column("cost", pl.Float64, "US dollars; null if a price is unknown"),
)
"""The columns of a usage but its calls, which are those of a turn or those of a run."""

RECEIPTS = Table(
    "receipts",
    9,
    (
        Column("turn_id", pl.String, "unique"),
        Column("group_id", pl.String, "group of the turn"),
        Column("format", pl.String, "archive format of the turn"),
        Column("session_id", pl.String, "session of the turn"),
        Column("ordinal", pl.Int64, "position in the session at the time of the commit"),
        Column("parent_session_id", pl.String, "session that this one continues; null if none"),
        Column("agent_id", pl.String, "native id of the subagent; null for the main agent"),
        Column("run_id", pl.String, "run that committed the turn"),
        Column("content_hash", pl.String, "digest of the committed turn"),
        Column("text_hash", pl.String, "digest of the committed episode text"),
        Column("chunks", pl.Int64, "episodes that the turn was committed as"),
        Column("extractor", pl.String, "extractor that made the turn: `llm`, `structural`, ..."),
        Column("model", pl.String, "model with its provider; null if the extractor uses none"),
        Column("recipe", pl.String, "digest of extractor, templates, ontology and model"),
        Column("committed_at", TIME, "time of the commit"),
        Column("started_at", TIME, "reference time of the episode"),
        Column("ended_at", TIME, "time of the turn's last row; null if unknown"),
        Column("cwd", pl.String, "last working directory in the turn, redacted; null if none"),
        Column("git_branch", pl.String, "last git branch in the turn, redacted; null if none"),
        Column("tools", TEXTS, "names of the tools that the turn used, in order of first use"),
        Column("archive", pl.String, "absolute path of the archive, redacted"),
        Column("first_line", pl.Int64, "first line of the turn in the archive, from 1"),
        Column("last_line", pl.Int64, "last line of the turn in the archive"),
        Column("calls", pl.Int64, "model calls for the turn, including failed ones"),
        *_USAGE,
        Column("entities_new", pl.Int64, "entities that the turn created"),
        Column("facts_new", pl.Int64, "facts that the turn created"),
        Column("facts_invalidated", pl.Int64, "facts that the turn invalidated"),
        Column("summary_reasons", TEXTS, "decisions about summaries: `3 unchanged`, ..."),
        Column("facts_held", pl.Int64, "facts whose invalidation is held for review"),
    ),
)
"""Properties of the TurnCommit nodes, the same in every graph: both stores derive their statements
from it. Its version is recorded on every TurnGroup."""

RUNS = Table(
    "runs",
    RECEIPTS.version,
    (
        Column("run_id", pl.String, "unique"),
        Column("owner", pl.String, "owner of its leases: `host:pid:run`"),
        Column("user", pl.String, "who started it"),
        Column("host", pl.String, "where it ran"),
        Column("command", TEXTS, "program and arguments without secrets; empty for Python"),
        Column("archives", TEXTS, "archives as they were given; empty if none were read"),
        Column("groups", TEXTS, "groups with turns to ingest, sorted"),
        Column("extractor", pl.String, "extractor that made its turns"),
        Column("model", pl.String, "model with its provider; null if the extractor uses none"),
        Column("recipes", TEXTS, "recipes of its groups, sorted"),
        Column("started_at", TIME, "time of its first lease"),
        Column("ended_at", TIME, "end of the run; null while it runs, and if it was killed"),
        Column("outcome", pl.String, "done, stopped, interrupted or failed; null as `ended_at`"),
        Column("error", pl.String, "its first error; null if there was none"),
        Column("committed", pl.Int64, "turns that it committed"),
        Column("quarantined", pl.Int64, "turns that failed"),
        Column("discarded", pl.Int64, "extracted entities and facts that were useless"),
        Column("entities_new", pl.Int64, "entities that it created"),
        Column("facts_new", pl.Int64, "facts that it created"),
        Column("facts_invalidated", pl.Int64, "facts that it invalidated"),
        Column("summary_reasons", TEXTS, "decisions about summaries: `3 unchanged`, ..."),
        Column("calls", pl.Int64, "model calls, including failed ones"),
        *_USAGE,
        Column("undone_at", TIME, "when the last of its turns was undone; null if it was not"),
    ),
)
"""Properties of the TurnRun nodes, the same in every graph. Counts and usage are written at the end
of a run; the receipts with its id say what a run that was killed has committed."""
