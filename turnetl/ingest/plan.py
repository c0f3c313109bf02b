"""What is left to do in a group: its episodes against what the graph says is committed.

The watermark is never a time: history arrives late. It is the set of committed turns, and every
turn that is not in it has a reason.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from turnetl.ingest.assumed_time import AssumedTime
from turnetl.model import GroupId, Receipt, TurnId

OPEN = "open"
NO_TIME = "no_time"
QUARANTINED = "quarantined"
OUT_OF_RANGE = "out_of_range"
OVER_LIMIT = "over_limit"
READY = "ready"
UNKNOWN = "unknown"
"""The graph did not say."""

NOISE = "noise"
SAID = "said_otherwise"
RENDERED = "rendered_otherwise"
EXTRACTED = "extracted_otherwise"
_STALE = (NOISE, SAID, RENDERED, EXTRACTED)
"""Why a committed turn is stale: the first of these that holds."""

COLUMNS = (
    *("turn_id", "session_id", "noise", "started_at", "timeless", "closed"),
    *("content_hash", "text_hash", "kind"),
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which turns a run may take, and when an open one counts as over."""

    now: datetime
    quiet: timedelta = timedelta(minutes=30)
    """A last turn is over when its archive held nothing newer for so long."""
    assume: AssumedTime | None = None
    """For turns whose archive has no time; without it they wait."""
    since: datetime | None = None
    until: datetime | None = None
    """Not included."""
    limit: int | None = None
    """At most so many turns of each group."""
    retry: bool = False
    """Take quarantined turns too."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A group's turns, each once: committed, to do, noise, in a gap, or set aside and left so."""

    group: GroupId
    turns: int
    committed: int
    """Kept turns that the graph holds."""
    todo: tuple[TurnId, ...]
    """Oldest first."""
    context: Mapping[TurnId, tuple[TurnId, ...]]
    """For each turn of `todo`, the kept turns before it in its session, oldest first."""
    noise: Mapping[str, int]
    """By rule."""
    gaps: Mapping[str, int]
    """Turns that wait, by reason: open, no_time, out_of_range, over_limit."""
    quarantined: frozenset[TurnId]
    """Quarantined turns, also those that are to be tried again."""
    stale: Mapping[str, int]
    """Committed turns that would be committed otherwise today, by reason: a rule speaks against
    them, or what they say, how it is rendered or the recipe changed. Shown, never done again."""
    missing_from_lake: int
    """Committed turns that the lake no longer holds."""
    assumed: int
    """Turns that the graph holds, or that may go there, with a time that no archive says."""

    @property
    def needed(self) -> frozenset[TurnId]:
        """The turns to do, and those that a model is shown with them."""
        return frozenset(self.todo).union(*self.context.values())


def make(
    group: GroupId,
    episodes: pl.DataFrame,
    receipts: Sequence[Receipt],
    quarantined: Collection[TurnId],
    scope: Scope,
    *,
    recipe: Callable[[str], str] | None,
    context_turns: int,
) -> Plan:
    """Hold a group's episodes against its receipts.

    Args:
        episodes: at least `COLUMNS`, as `taken.episodes` gives them.
        receipts: what the graph holds of the group.
        quarantined: turns that failed and wait for `turnetl retry`.
        scope: the run's limits.
        recipe: digest of how turns of a kind would be extracted today; None if that cannot be told.
        context_turns: how many earlier turns of a session a model is shown.
    """
    done = {receipt.turn_id: receipt for receipt in receipts}
    marked = episodes.with_columns(
        state=_state(list(done), list(quarantined), scope), in_range=_in_range(scope)
    )
    states = Counter(marked["state"].to_list())
    takes = [READY, QUARANTINED] if scope.retry else [READY]
    todo = _turns(marked.filter(pl.col("state").is_in(takes) & pl.col("in_range")))[: scope.limit]
    ready = _turns(marked.filter(pl.col("state") == READY))
    set_aside = frozenset(_turns(marked.filter(pl.col("state") == QUARANTINED)))
    return Plan(
        group=group,
        turns=episodes.height,
        committed=states["committed"],
        todo=todo,
        context=_context(marked, frozenset(todo), context_turns),
        noise=_noise(marked),
        gaps=_gaps(states, over_limit=len(set(ready) - set(todo))),
        quarantined=set_aside,
        stale=_stale(marked, done, recipe),
        missing_from_lake=len(done.keys() - set(episodes["turn_id"].to_list())),
        assumed=marked.filter("timeless", ~pl.col("state").is_in(["noise", NO_TIME])).height,
    )


def _turns(marked: pl.DataFrame) -> tuple[TurnId, ...]:
    return tuple(map(TurnId, marked["turn_id"].to_list()))


def _in_range(scope: Scope) -> pl.Expr:
    started = pl.col("started_at")
    early = started < scope.since if scope.since else pl.lit(value=False)
    late = started >= scope.until if scope.until else pl.lit(value=False)
    return ~(early | late)


def _state(done: list[TurnId], quarantined: list[TurnId], scope: Scope) -> pl.Expr:
    """One word a turn. What is committed is committed, whatever a rule says today."""
    return (
        pl.when(pl.col("turn_id").is_in(done))
        .then(pl.lit("committed"))
        .when(pl.col("noise").is_not_null())
        .then(pl.lit("noise"))
        .when(pl.col("started_at").is_null())
        .then(pl.lit(NO_TIME))
        .when(~pl.col("closed"))
        .then(pl.lit(OPEN))
        .when(pl.col("turn_id").is_in(quarantined))
        .then(pl.lit(QUARANTINED))
        .when(~_in_range(scope))
        .then(pl.lit(OUT_OF_RANGE))
        .otherwise(pl.lit(READY))
    )


def _gaps(states: Counter[str], *, over_limit: int) -> dict[str, int]:
    gaps = {name: states[name] for name in (OPEN, NO_TIME, OUT_OF_RANGE)} | {OVER_LIMIT: over_limit}
    return {name: count for name, count in gaps.items() if count}


def _noise(marked: pl.DataFrame) -> dict[str, int]:
    names = marked.filter(pl.col("state") == "noise")["noise"].to_list()
    return dict(sorted(Counter(names).items()))


def _stale(
    marked: pl.DataFrame, done: Mapping[TurnId, Receipt], recipe: Callable[[str], str] | None
) -> dict[str, int]:
    today = ("turn_id", "kind", "content_hash", "text_hash", "noise")
    committed = marked.filter(pl.col("state") == "committed").select(today)
    recipes = {kind: recipe(kind) for kind in committed["kind"].unique()} if recipe else {}
    reasons = Counter(
        _why_stale(done[TurnId(turn)], recipes.get(kind), content, text, noise)
        for turn, kind, content, text, noise in committed.iter_rows()
    )
    return {name: reasons[name] for name in _STALE if reasons[name]}


def _why_stale(
    receipt: Receipt, recipe: str | None, content_hash: str, text_hash: str, noise: str | None
) -> str | None:
    """Say in what the turn of today is not what was committed; None if in nothing."""
    if noise is not None:
        return NOISE
    if content_hash != receipt.content_hash:
        return SAID
    if text_hash != receipt.text_hash:
        return RENDERED
    return EXTRACTED if recipe not in (None, receipt.recipe) else None


def _context(
    marked: pl.DataFrame, todo: frozenset[TurnId], size: int
) -> dict[TurnId, tuple[TurnId, ...]]:
    told = pl.col("state").is_in(["committed", READY]) | pl.col("turn_id").is_in(list(todo))
    kept = marked.filter(told)
    sessions: dict[str, list[TurnId]] = {}
    context: dict[TurnId, tuple[TurnId, ...]] = {}
    for turn, session in kept.select("turn_id", "session_id").iter_rows():
        before = sessions.setdefault(session, [])
        if turn in todo:
            context[turn] = tuple(before[len(before) - size :] if size < len(before) else before)
        before.append(turn)
    return context
