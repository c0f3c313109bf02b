"""The columns of every table, with a line on each; checked when written and when read.

Times are UTC with microseconds. Nothing here is nullable unless the line says so.
"""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

TIME = pl.Datetime("us", "UTC")
TEXTS = pl.List(pl.String)
TOOL = pl.Struct(
    {
        "name": pl.String,
        "input": pl.String,
        "result": pl.String,
        "is_error": pl.Boolean,
        "ended_at": TIME,
    }
)


@dataclass(frozen=True)
class Column:
    name: str
    dtype: pl.DataType | type[pl.DataType]
    line: str


@dataclass(frozen=True, eq=False)
class Table:
    """A table's name, the version of its form, and its columns in order."""

    name: str
    version: int
    columns: tuple[Column, ...]

    @cached_property
    def polars(self) -> pl.Schema:
        return pl.Schema({column.name: column.dtype for column in self.columns})


TURNS = Table(
    "turns",
    1,
    (
        Column("turn_id", pl.String, "uuid5 of group, format and the prompt's native id"),
        Column("group_id", pl.String, "Graphiti's group: one project"),
        Column("format", pl.String, "which module read it: claude_code, codex, ..."),
        Column("session_id", pl.String, "the conversation"),
        Column("ordinal", pl.Int32, "place within the session in this archive, from 0"),
        Column("prompt_id", pl.String, "native id of the prompt; null if the format has none"),
        Column("parent_session_id", pl.String, "the session this one goes on from; null if none"),
        Column("agent_id", pl.String, "native id of the agent; null for the main one"),
        Column("started_at", TIME, "time of the prompt; null where the archive has no time"),
        Column("ended_at", TIME, "time of the turn's last row; null where there is none"),
        Column("user_text", pl.String, "the prompt, redacted"),
        Column("assistant_text", pl.String, "the answers, joined by blank lines, redacted"),
        Column("steering", TEXTS, "what the person said while the agent worked, in order"),
        Column("user_answers", TEXTS, "what the person said inside tool results, in order"),
        Column(
            "tool_calls", pl.List(TOOL), "calls in order; of long outcomes head, tail and failures"
        ),
        Column("subagent_prompts", TEXTS, "prompts given to subagents, in order"),
        Column("model", pl.String, "last seen in the turn; null if none"),
        Column("cwd", pl.String, "last seen in the turn, redacted; null if none"),
        Column("git_branch", pl.String, "last seen in the turn, redacted; null if none"),
        Column("app_version", pl.String, "last seen in the turn; null if none"),
        Column("input_tokens", pl.Int64, "as recorded, once per API message"),
        Column("output_tokens", pl.Int64, "as recorded, once per API message"),
        Column("closed", pl.Boolean, "whether the archives show that the turn is over"),
        Column("closed_by", pl.String, "next_prompt, session_end or interrupted; null if open"),
        Column("archive", pl.String, "path of the archive, from the root"),
        Column("first_line", pl.Int64, "line of the prompt, from 1"),
        Column("last_line", pl.Int64, "last line that belongs to the turn"),
        Column("first_byte", pl.Int64, "offset of the first line's first byte"),
        Column("last_byte", pl.Int64, "offset just behind the last line's last byte"),
        Column("chars", pl.Int64, "prompt, answers, tool inputs and uncut outcomes; no thinking"),
        Column("redactions", pl.Int32, "secrets cut out"),
        Column("content_hash", pl.String, "digest of the redacted content"),
    ),
)
"""Lines and bytes are those of what the archive says: unpacked, and of a session in OpenCode's
store its files one behind another, in the order of `parse.stores.members`. Silence (`quiet`, or
that an agent crashed) depends on the clock: `ingest.candidates` judges it; no table has it."""

EPISODES = Table(
    "episodes",
    3,
    (
        *TURNS.columns,
        Column("noise", pl.String, "the rule that speaks against the turn; null if kept"),
        Column("copies", pl.Int32, "other archives that hold the very same turn"),
        Column("text", pl.String, "the episode body as it will be sent"),
        Column("parts", TEXTS, "text in pieces that fit one prompt each"),
        Column("chars_before", pl.Int64, "chars of the turn"),
        Column("chars_after", pl.Int64, "chars of text"),
        Column("tokens", pl.Int64, "estimate for text"),
        Column("text_hash", pl.String, "digest of parts"),
        Column("kind", pl.String, "what the turn is mostly made of: error_heavy, code_heavy, ..."),
    ),
)
"""One row a turn of the group, in the order of (started_at, session_id, ordinal). `ordinal` counts
within the session here, whatever number of archives it lies in; a turn that is open in its archive
is closed by `next_prompt` if its session goes on in another."""

RECEIPTS = Table(
    "receipts",
    4,
    (
        Column("turn_id", pl.String, "unique"),
        Column("group_id", pl.String, "group of the turn"),
        Column("session_id", pl.String, "session of the turn"),
        Column("ordinal", pl.Int64, "position in the session at the time of the commit"),
        Column("run_id", pl.String, "run that committed the turn"),
        Column("content_hash", pl.String, "of the committed turn"),
        Column("text_hash", pl.String, "of the committed episode text"),
        Column("parts", pl.Int64, "episodes that the turn was committed as"),
        Column("recipe", pl.String, "digest of extractor, templates, ontology and model"),
        Column("committed_at", TIME, "time of the commit"),
        Column("started_at", TIME, "reference time of the episode"),
        Column("ended_at", TIME, "time of the turn's last row; null if unknown"),
        Column("archive", pl.String, "absolute path of the archive"),
        Column("first_line", pl.Int64, "first line of the turn in the archive, from 1"),
        Column("last_line", pl.Int64, "last line of the turn in the archive"),
        Column("calls", pl.Int64, "model requests for the turn, including failed ones"),
        Column("prompt_tokens", pl.Int64, "tokens of all prompts"),
        Column("cached_tokens", pl.Int64, "prompt tokens that were cache hits at the provider"),
        Column("completion_tokens", pl.Int64, "tokens of all responses"),
        Column("seconds", pl.Float64, "time spent waiting for responses"),
        Column("cost", pl.Float64, "US dollars; null if a price is unknown"),
        Column("entities_new", pl.Int64, "entities that the turn created"),
        Column("facts_new", pl.Int64, "facts that the turn created"),
        Column("facts_invalidated", pl.Int64, "facts that the turn invalidated"),
    ),
)
"""Properties of the TurnCommit nodes, the same in every graph. Both stores derive their tables,
rows and statements from it. Its version is recorded on every TurnGroup."""
