"""The tokens that the agents used, as their archives record them, and what turnetl itself paid.

Subagents are in no turn: their tokens are in the metadata of the turns files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from turnetl.activity_report import model
from turnetl.activity_report.contents import Period, activities
from turnetl.activity_report.model import (
    AgentUsage,
    Listed,
    NamedUsage,
    OwnCost,
    ReportedRun,
    TokenCount,
    listed,
)
from turnetl.base import ids, schema
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, SubagentUsage, Usage
from turnetl.base.schema import TOKEN_COUNTS
from turnetl.ingestion.run_report import RecordedRun, RunsReport
from turnetl.lake import ArchiveMetadata, TurnFile
from turnetl.llm.journal import JournalStats
from turnetl.noise.rules import COPY

_UNKNOWN = "unknown"
_TOKENS = pl.sum_horizontal([name for name in TOKEN_COUNTS if name != "reasoning_tokens"])
"""Reasoning is part of the output."""
_OF_MESSAGE = ("group_id", "format", "model", "day", "started_at", "is_of_subagent")
_IS_SPLIT = pl.col("usage").is_not_null()


def agent_usage(turns: pl.DataFrame, subagents: pl.DataFrame) -> AgentUsage:
    """Return what the agents used: in rows of `turns.ROWS`, and in rows of `SUBAGENTS`."""
    originals = turns.filter(pl.col("noise").ne_missing(COPY.name))
    messages = used_messages(turns, subagents)
    dated = messages.with_columns(started_at=pl.col("day").cast(pl.Datetime("us", "UTC")))
    by_day, by_month = activities(
        dated, "model", _TOKENS, period=Period.DAY, limit=model.CHART_DAYS
    )
    return AgentUsage(
        total=next(iter(_by(originals, messages, pl.lit("all"))), TokenCount("all", 0, 0, 0)),
        by_model=listed(_by(originals, messages, pl.col("model")), model.MODELS),
        by_project=listed(_by(originals, messages, pl.col("group_id")), model.PROJECTS),
        by_format=tuple(_by(originals, messages, pl.col("format"))),
        by_day=by_day,
        by_month=by_month,
        older_turns=originals.filter(~_IS_SPLIT, "is_in_lake").height,
    )


def used_messages(turns: pl.DataFrame, subagents: pl.DataFrame) -> pl.DataFrame:
    """Return each API message once: its group, format, model, UTC day and tokens.

    Archives that hold the same message may hold a part of it: of each count the greatest value
    counts. A turn that an older turnetl wrote is like one message.
    """
    columns = ("message", *_OF_MESSAGE, *TOKEN_COUNTS)
    of_subagents = subagents.with_columns(day=pl.col("started_at").dt.date())
    sources = (_of_turns(turns), _of_older_turns(turns), of_subagents)
    rows = pl.concat([one.select(columns) for one in sources])
    started = pl.col("started_at").dt.date()
    return (
        rows.group_by("message", maintain_order=True)
        .agg(
            pl.col("group_id", "format").first(),
            pl.col("model").drop_nulls().first(),
            pl.col(*TOKEN_COUNTS).max(),
            day=pl.coalesce(pl.col("day").min(), started.min()),
            is_of_subagent=pl.col("is_of_subagent").all(),
        )
        .drop("message")
    )


def _of_turns(turns: pl.DataFrame) -> pl.DataFrame:
    # The turn that is no copy says to which project a message belongs.
    split = turns.filter(_IS_SPLIT).sort(
        pl.col("noise").eq_missing(COPY.name), "started_at", "turn_id", nulls_last=True
    )
    messages = split.select(
        *("group_id", "format", "started_at", "agent_id", "usage"),
    ).explode("usage", empty_as_null=False)
    fields = [
        pl.col("usage").struct.field(name) for name in ("message", "model", "day", *TOKEN_COUNTS)
    ]
    return messages.select(
        *("group_id", "format", "started_at"),
        *fields,
        is_of_subagent=pl.col("agent_id").is_not_null(),
    )


def _of_older_turns(turns: pl.DataFrame) -> pl.DataFrame:
    older = turns.filter(~_IS_SPLIT, pl.col("noise").ne_missing(COPY.name))
    return older.select(
        *("group_id", "format", "model", "started_at", *TOKEN_COUNTS),
        message=pl.col("turn_id"),
        day=pl.lit(None, pl.Date),
        is_of_subagent=pl.col("agent_id").is_not_null(),
    )


def _by(turns: pl.DataFrame, messages: pl.DataFrame, name: pl.Expr) -> list[TokenCount]:
    """Return the tokens by a name, most tokens first."""
    named = name.fill_null(_UNKNOWN).alias("name")
    counted = turns.with_columns(named).group_by("name").agg(pl.len().alias("turns"))
    sums = (
        messages.with_columns(named)
        .group_by("name")
        .agg(
            # Null if a count is recorded nowhere.
            *[pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()) for name in TOKEN_COUNTS],
            tokens=_TOKENS.sum(),
            subagent_tokens=_TOKENS.filter("is_of_subagent").sum(),
        )
    )
    both = counted.join(sums, on="name", how="full", coalesce=True).with_columns(
        pl.col("turns", "tokens", "subagent_tokens", "input_tokens", "output_tokens").fill_null(0)
    )
    ordered = both.sort(["tokens", "turns", "name"], descending=[True, True, False]).drop("tokens")
    return [TokenCount(**row) for row in ordered.iter_rows(named=True)]


_TYPES = {column.name: column.dtype for column in schema.TURNS.columns}
_NAMES = ("group_id", "format", "model", "started_at", *TOKEN_COUNTS)
SUBAGENTS = pl.Schema(
    {"message": pl.String, "is_of_subagent": pl.Boolean} | {name: _TYPES[name] for name in _NAMES}
)
"""One row for each API message of each archive. `started_at` is the time of the first message of
the same subagent, model and UTC day."""


def subagent_rows(files: Iterable[TurnFile]) -> pl.DataFrame:
    """Return the messages in no turn as rows of `SUBAGENTS`; several archives may hold the same."""
    found = [
        row
        for file in files
        for one in file.metadata.subagent_usage or ()
        for row in _rows(file.metadata, one)
    ]
    return pl.DataFrame(found, schema=SUBAGENTS)


def _rows(metadata: ArchiveMetadata, one: SubagentUsage) -> Iterator[dict[str, Any]]:
    shared = {
        "group_id": metadata.group,
        "format": metadata.format,
        "model": one.model,
        "started_at": one.started_at,
        "is_of_subagent": bool(one.subagent),
    }
    for message, *counts in one.messages:
        yield {"message": message, **shared, **dict(zip(TOKEN_COUNTS, counts, strict=True))}
    if not one.messages:
        # An older turnetl recorded only sums: the entry is the same in all archives of the group.
        day = "" if one.started_at is None else one.started_at.date().isoformat()
        name = ids.digest(metadata.group, one.subagent, one.model or "", day)
        yield {"message": name, **shared, **{count: getattr(one, count) for count in TOKEN_COUNTS}}


def own_cost(
    journal: JournalStats | None, by_group: Mapping[GroupId, Usage], runs: RunsReport | None
) -> OwnCost:
    """Return the cost. None: a part that cannot be read. `by_group`: of the turns in the graph."""
    by_prompt = {} if journal is None else journal.by_prompt
    recorded = () if runs is None else runs.runs
    return OwnCost(
        by_prompt=tuple(NamedUsage(name or "-", one.usage) for name, one in by_prompt.items()),
        saved=0.0 if journal is None else journal.total.saved_cost,
        by_group=tuple(NamedUsage(group, one) for group, one in by_group.items() if one.calls),
        runs=Listed(tuple(map(_run, recorded[: model.RUNS])), 0 if runs is None else runs.count),
    )


def usage_in_range(
    receipts: Mapping[GroupId, Sequence[Receipt]], since: datetime | None, until: datetime | None
) -> dict[GroupId, Usage]:
    """Return the usage of the turns that started in a time, by group. None: no limit."""
    return {
        group: sum((one.usage for one in of_group if _is_in(one, since, until)), Usage())
        for group, of_group in receipts.items()
    }


def _is_in(receipt: Receipt, since: datetime | None, until: datetime | None) -> bool:
    started_at = receipt.started_at
    return (since is None or started_at >= since) and (until is None or started_at < until)


def _run(recorded: RecordedRun) -> ReportedRun:
    run = recorded.run
    return ReportedRun(
        run_id=run.run_id,
        started_at=run.started_at,
        state=recorded.state.value,
        committed=run.committed,
        quarantined=run.quarantined,
        model=run.model,
        usage=run.usage,
    )
