"""Which turns of a group a run must commit: the group's episodes compared with its receipts.

The watermark is never a time, because history arrives late. It is the set of committed turns, and
every turn outside it has a reason. Turns whose archive has no time may get an assumed one, assumed
again by each run: tables hold what the archives record.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import polars as pl

from turnetl.base import ids, schema
from turnetl.base.clock import as_utc
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.lake import ArchiveMetadata

MTIME = "mtime"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OWN_HASH = pl.col("content_hash").str.split(ids.SUBAGENTS).list.first().alias("own_hash")
_ROW_KEY = ["archive", "first_byte", "own_hash"]
"""Identifies a row of the turns table; a copy may have another turn's id in the episodes table."""


@dataclass(frozen=True, slots=True)
class AssumedTime:
    """When an archive without times was started."""

    at: datetime | None
    """None: the modification time of the archive. UTC without a time zone."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_utc(self.at))


def parse_assumed_time(text: str, now: datetime) -> AssumedTime:
    """Read an option's value: an ISO 8601 time, UTC if it has no zone, or `mtime`."""
    if text.strip().lower() == MTIME:
        return AssumedTime(None)
    try:
        given = datetime.fromisoformat(text.strip())
        at = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadUsage(
            f"`{text}` is not a valid time to assume: use an ISO time such as 2026-03-02 or "
            "2026-03-02T09:00+01:00, or `mtime` for the modification time of each archive"
        ) from error
    if at > now:
        raise BadUsage(f"`{text}` is not a valid time to assume: it lies in the future (in UTC)")
    return AssumedTime(at)


def fill_assumed_times(
    episodes: pl.LazyFrame,
    turns: pl.LazyFrame,
    archives: Iterable[ArchiveMetadata],
    assume: AssumedTime,
) -> pl.LazyFrame:
    """Set the time of the episodes that have none, and sort all rows by time again.

    The k-th turn of an archive, from 0, gets the archive's time plus k milliseconds: the order of
    the archive stays, and the next run assumes the same times. No turn starts after its own end.

    Args:
        turns: rows of `schema.TURNS` of the group; those of an archive in its own order.
    """
    started_at = pl.col("archive_started_at") + pl.duration(milliseconds=pl.col("position"))
    positions = _positions(turns).join(
        _archive_times(archives, assume).lazy(), on="archive", how="left"
    )
    filled = (
        episodes.with_columns(_OWN_HASH)
        .join(positions, on=_ROW_KEY, how="left")
        .with_columns(
            pl.coalesce("started_at", pl.min_horizontal(started_at, "ended_at")).alias("started_at")
        )
    )
    return filled.drop("position", "archive_started_at", "own_hash").sort(
        "started_at", "session_id", "ordinal", "turn_id", nulls_last=True
    )


def _positions(turns: pl.LazyFrame) -> pl.LazyFrame:
    rows = turns.with_columns(_OWN_HASH).select(_ROW_KEY).with_row_index("position")
    position = (pl.col("position") - pl.col("position").min().over("archive")).cast(pl.Int64)
    return rows.with_columns(position).unique(_ROW_KEY, keep="first", maintain_order=True)


def _archive_times(archives: Iterable[ArchiveMetadata], assume: AssumedTime) -> pl.DataFrame:
    times = {
        archive.archive: (
            (assume.at - _EPOCH) // timedelta(microseconds=1)
            if assume.at
            else archive.mtime_ns // 1000
        )
        for archive in archives
    }
    columns = {"archive": list(times), "archive_started_at": list(times.values())}
    frame = pl.DataFrame(columns, schema={"archive": pl.String, "archive_started_at": pl.Int64})
    return frame.with_columns(pl.col("archive_started_at").cast(schema.TIME))


COLUMNS = (
    *("turn_id", "session_id", "noise", "started_at", "has_no_time", "closed"),
    *("content_hash", "text_hash", "kind"),
)
"""The columns of the candidate rows that a plan reads."""


class _NotPending(StrEnum):
    """The states of a turn that are not a `PendingReason`."""

    COMMITTED = "committed"
    NOISE = "noise"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which turns a run may commit, and when an open turn is closed."""

    now: datetime
    close_after: timedelta = timedelta(minutes=30)
    """The last turn of a session is closed if its archive recorded nothing for this long."""
    assume: AssumedTime | None = None
    """For turns whose archive has no time; without it they stay pending."""
    since: datetime | None = None
    """Inclusive."""
    until: datetime | None = None
    """Exclusive."""
    limit: int | None = None
    """Maximum number of turns of each group."""
    retry: bool = False
    """Include quarantined turns."""
    sessions: frozenset[tuple[str, str]] | None = None
    """(format, session_id): only turns of these sessions are candidates; None: of all."""


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """The turns of a group, each once: committed, to commit, noise, pending or quarantined."""

    group: GroupId
    turns: int
    committed: int
    """Turns of the lake that the graph holds."""
    to_commit: tuple[TurnId, ...]
    """Oldest first."""
    context: Mapping[TurnId, tuple[TurnId, ...]]
    """For each turn of `to_commit`, the kept turns before it in its session, oldest first."""
    noise: Mapping[str, int]
    pending_reasons: Mapping[PendingReason, int]
    """Turns that the run leaves out: open, no_time, out_of_range, over_limit."""
    quarantined: frozenset[TurnId]
    """Quarantined turns, including those that the run attempts again."""
    stale_reasons: Mapping[StaleReason, int]
    """Committed turns that a run would commit differently today: only reported."""
    stale_recipes: Mapping[tuple[str, str], int]
    """Of those, the turns with another recipe, by kind and recorded recipe."""
    missing_from_lake: int
    """Committed turns that the lake no longer holds."""
    turns_with_assumed_time: int
    """Turns in the graph, or eligible for it, whose time is assumed: the archive has none."""
    superseded_prompts: tuple[TurnId, ...] = ()
    """Prompts of a history among those missing, whose transcripts the lake holds now."""
    facts_held: int = 0
    """Invalidations of committed turns that are held for review."""

    @property
    def required(self) -> frozenset[TurnId]:
        return frozenset(self.to_commit).union(*self.context.values())


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """A turn that both the lake and the graph hold."""

    receipt: Receipt
    kind: str
    """Of the turn as the lake holds it today."""
    stale: StaleReason | None
    """How a run would commit it differently today; None if it would not."""


def plan_turns(
    group: GroupId,
    candidates: pl.DataFrame,
    receipts: Sequence[Receipt],
    quarantined: Collection[TurnId],
    scope: Scope,
    *,
    recipe: Callable[[str], str] | None,
    context_turns: int,
) -> TurnPlan:
    """Compare the candidate rows of a group with its receipts, of all its committed turns.

    Args:
        recipe: digest of how turns of a kind would be extracted today; None if it is not known.
        context_turns: number of earlier turns of the session that the model is shown.
    """
    committed = {receipt.turn_id: receipt for receipt in receipts}
    marked = candidates.with_columns(state=_state(list(committed), list(quarantined), scope))
    states = Counter(marked["state"].to_list())
    to_commit = _turns_to_commit(marked, scope)
    ready = _turn_ids(marked.filter(_has_state(PendingReason.READY)))
    in_graph = marked.filter(_has_state(_NotPending.COMMITTED))
    stale_reasons, stale_recipes = stale_counts(committed_turns(in_graph, committed, recipe))
    is_excluded = _has_state(_NotPending.NOISE, PendingReason.NO_TIME)
    return TurnPlan(
        group=group,
        turns=candidates.height,
        committed=states[_NotPending.COMMITTED],
        to_commit=to_commit,
        context=_context(marked, frozenset(to_commit), context_turns),
        noise=_noise(marked),
        pending_reasons=_pending_reasons(states, over_limit=len(set(ready) - set(to_commit))),
        quarantined=frozenset(_turn_ids(marked.filter(_has_state(PendingReason.QUARANTINED)))),
        stale_reasons=stale_reasons,
        stale_recipes=stale_recipes,
        missing_from_lake=len(committed.keys() - set(candidates["turn_id"].to_list())),
        turns_with_assumed_time=marked.filter("has_no_time", ~is_excluded).height,
        facts_held=sum(receipt.facts_held for receipt in receipts),
    )


def uncommitted_turns(
    candidates: pl.DataFrame,
    committed: Collection[TurnId],
    quarantined: Collection[TurnId],
    scope: Scope,
) -> dict[PendingReason, tuple[TurnId, ...]]:
    """Return the turns that are neither committed nor noise, by reason, in their order."""
    marked = candidates.with_columns(state=_state(list(committed), list(quarantined), scope))
    found = {reason: _turn_ids(marked.filter(_has_state(reason))) for reason in PendingReason}
    return {reason: turns for reason, turns in found.items() if turns}


def _turns_to_commit(marked: pl.DataFrame, scope: Scope) -> tuple[TurnId, ...]:
    states = [PendingReason.READY, *([PendingReason.QUARANTINED] if scope.retry else [])]
    return _turn_ids(marked.filter(_has_state(*states) & _in_range(scope)))[: scope.limit]


def _turn_ids(marked: pl.DataFrame) -> tuple[TurnId, ...]:
    return tuple(map(TurnId, marked["turn_id"].to_list()))


def _in_range(scope: Scope) -> pl.Expr:
    started = pl.col("started_at")
    early = started < scope.since if scope.since else pl.lit(value=False)
    late = started >= scope.until if scope.until else pl.lit(value=False)
    return ~(early | late)


def _state(committed: list[TurnId], quarantined: list[TurnId], scope: Scope) -> pl.Expr:
    """Return one state per turn. A committed turn stays committed, even if a rule marks it now."""
    return (
        pl.when(pl.col("turn_id").is_in(committed))
        .then(pl.lit(_NotPending.COMMITTED))
        .when(pl.col("noise").is_not_null())
        .then(pl.lit(_NotPending.NOISE))
        .when(pl.col("started_at").is_null())
        .then(pl.lit(PendingReason.NO_TIME))
        .when(~pl.col("closed"))
        .then(pl.lit(PendingReason.OPEN))
        .when(pl.col("turn_id").is_in(quarantined))
        .then(pl.lit(PendingReason.QUARANTINED))
        .when(~_in_range(scope))
        .then(pl.lit(PendingReason.OUT_OF_RANGE))
        .otherwise(pl.lit(PendingReason.READY))
    )


def _has_state(*states: StrEnum) -> pl.Expr:
    # As plain texts: polars would compare enum members as categories of their own.
    return pl.col("state").is_in([state.value for state in states])


def _pending_reasons(states: Counter[str], *, over_limit: int) -> dict[PendingReason, int]:
    from_state = (PendingReason.OPEN, PendingReason.NO_TIME, PendingReason.OUT_OF_RANGE)
    counts = {reason: states[reason] for reason in from_state}
    counts[PendingReason.OVER_LIMIT] = over_limit
    return {reason: count for reason, count in counts.items() if count}


def _noise(marked: pl.DataFrame) -> dict[str, int]:
    rules = marked.filter(_has_state(_NotPending.NOISE))["noise"].to_list()
    return dict(sorted(Counter(rules).items()))


def stale_counts(
    turns: Iterable[ComparedTurn],
) -> tuple[Mapping[StaleReason, int], Mapping[tuple[str, str], int]]:
    """Count the stale turns by reason, and those with another recipe by kind and recipe."""
    reasons: Counter[StaleReason | None] = Counter()
    recipes: Counter[tuple[str, str]] = Counter()
    for turn in turns:
        reasons[turn.stale] += 1
        if turn.stale is StaleReason.RECIPE_CHANGED:
            recipes[turn.kind, turn.receipt.recipe] += 1
    return {reason: reasons[reason] for reason in StaleReason if reasons[reason]}, recipes


def committed_turns(
    candidates: pl.DataFrame,
    receipts: Mapping[TurnId, Receipt],
    recipe: Callable[[str], str] | None,
) -> Iterator[ComparedTurn]:
    rows = candidates.select("turn_id", "kind", "content_hash", "text_hash", "noise")
    recipes = {kind: recipe(kind) for kind in rows["kind"].unique()} if recipe else {}
    for turn, kind, content_hash, text_hash, noise in rows.iter_rows():
        if (receipt := receipts.get(TurnId(turn))) is not None:
            stale = _stale_reason(receipt, recipes.get(kind), content_hash, text_hash, noise)
            yield ComparedTurn(receipt, kind, stale)


def _stale_reason(
    receipt: Receipt, recipe: str | None, content_hash: str, text_hash: str, noise: str | None
) -> StaleReason | None:
    if noise is not None:
        return StaleReason.NOISE
    if content_hash != receipt.content_hash:
        return StaleReason.CONTENT_CHANGED
    if text_hash != receipt.text_hash:
        return StaleReason.TEXT_CHANGED
    return StaleReason.RECIPE_CHANGED if recipe not in (None, receipt.recipe) else None


def _context(
    marked: pl.DataFrame, to_commit: frozenset[TurnId], size: int
) -> dict[TurnId, tuple[TurnId, ...]]:
    is_kept = _has_state(_NotPending.COMMITTED, PendingReason.READY)
    kept = marked.filter(is_kept | pl.col("turn_id").is_in(list(to_commit)))
    sessions: dict[str, list[TurnId]] = {}
    context: dict[TurnId, tuple[TurnId, ...]] = {}
    for turn, session in kept.select("turn_id", "session_id").iter_rows():
        earlier = sessions.setdefault(session, [])
        if turn in to_commit:
            context[turn] = tuple(
                earlier[len(earlier) - size :] if size < len(earlier) else earlier
            )
        earlier.append(turn)
    return context
