"""Join the runs of subagents to the turns that started them, in whatever order archives arrive.

The parent of a run is what names its call or its agent: a turn, or another run. Else it is what
gave a subagent of the session this prompt; else the run whose agent is the session; else the last
turn of the session that started before it. A run belongs to the turn at the root. Copies of a run
are one, of which that with most calls counts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import polars as pl

from turnetl.base import ids, schema
from turnetl.base.model import GroupId
from turnetl.episodes import order
from turnetl.lake import Batch, Lake

LINKS = (
    *("turn_id", "format", "session_id", "agent_id", "prompt_id", "subagent_type", "started_at"),
    *("subagent_calls", "subagent_prompts", "user_text", "archive"),
)
"""The columns of `schema.TURNS` that say which runs belong to which turns."""
_BEST = {"calls": True, "chars": True, "content_hash": False, "archive": False, "turn_id": False}
"""How copies of a run are ranked, and whether the greatest comes first."""
_RUN = ["session_id", "agent_id"]
_UNIQUE_ID = 16
"""Characters of an id that no other session has; a shorter one, as `agent-1`, counts within one."""


@dataclass(frozen=True, slots=True)
class Parent:
    """Where a run belongs."""

    turn_id: str | None
    """The turn, by its id in its archive; None: it is not there."""
    started_by: str | None = None
    """`agent_id` of the run that started it; None: the agent of the turn."""
    call_id: str | None = None
    """As the parent has it."""
    type: str | None = None
    """As the parent has it."""


@dataclass(frozen=True, slots=True)
class JoinedRuns:
    """The runs of a group, with the turns that they belong to."""

    batches: Sequence[Batch]
    """`Lake.row_batches` of the group."""
    runs: pl.DataFrame
    """The `batch` and the `row` in it of the best copy, `owner` (the turn's id in the episodes
    table), `started_by`, `call_id` and `type`."""
    unjoined: frozenset[str]
    """Archives with runs whose turns are not there."""

    def with_runs(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Return the turns with their `subagents`, which `content_hash` covers, and their chars."""
        wanted = self.runs.join(turns.select(owner="turn_id"), on="owner", how="semi")
        if wanted.is_empty():
            return turns
        found = [
            self.batches[number].read().with_row_index("row").join(of_batch, on="row")
            for (number,), of_batch in wanted.partition_by("batch", as_dict=True).items()
        ]
        by_turn = _by_turn(pl.concat(found).drop("row").with_row_index("row"))
        joined = turns.join(by_turn, left_on="turn_id", right_on="owner", how="left")
        hashes = zip(joined["content_hash"], joined["runs"], strict=True)
        return joined.with_columns(
            pl.col("subagents").fill_null([]),
            pl.col("subagent_chars").fill_null(0),
            pl.Series(
                "content_hash",
                [own if runs is None else ids.with_subagents(own, runs) for own, runs in hashes],
                pl.String,
            ),
        ).drop("runs")


def join_runs(batches: Sequence[Batch]) -> JoinedRuns | None:
    """Return the runs of a group, joined to its turns; None if there are none. Reads no result.

    Args:
        batches: `Lake.row_batches` of the group.
    """
    links = _read_links(batches)
    if links is None:
        return None
    nowhere = Parent(None)
    places = [links.parents.get(run, nowhere) for run in links.runs["turn_id"]]
    joined = links.runs.select(
        "batch",
        "row",
        "archives",
        pl.Series("owner", [links.turns.get(place.turn_id) for place in places], pl.String),
        pl.Series("started_by", [place.started_by for place in places], pl.String),
        pl.Series("type", [place.type for place in places], pl.String),
        pl.coalesce(
            "prompt_id", pl.Series([place.call_id for place in places], dtype=pl.String)
        ).alias("call_id"),
    )
    unjoined = joined.filter(pl.col("owner").is_null())["archives"].explode()
    runs = joined.drop_nulls("owner").drop("archives")
    return JoinedRuns(links.batches, runs, frozenset(unjoined.drop_nulls()))


def of_same_turns(lake: Lake, group: GroupId, rows: Collection[str]) -> set[str]:
    """Return the ids of rows, and of all others of the same turns: copies, and runs for them."""
    links = _read_links(lake.row_batches(group))
    if links is None:
        return {*rows}
    turns: dict[str | None, str] = dict(links.turns)
    turns |= {run: turns[one.turn_id] for run, one in links.parents.items() if one.turn_id}
    chosen = {turns.get(row, row) for row in rows}
    return {*rows, *(row for row, turn in turns.items() if row and turn in chosen)}


def turns_at(lake: Lake, archive: str, line: int) -> set[str]:
    """Return the ids of turns that have this line, from 1, of an archive, or whose subagents do.

    The archive is a path as tables have it, or the end of one. Copies of a turn have ids too: the
    graph may hold it from another archive.
    """
    found = set[str]()
    for file in lake.turn_files():
        if not f"/{file.metadata.archive}".endswith(f"/{archive}"):
            continue
        group, is_there = file.metadata.group, pl.lit(line).is_between("first_line", "last_line")
        rows = lake.read_turns_file(file.path).filter(is_there)["turn_id"].to_list()
        if rows:
            keys = pl.concat(
                batch.read(*map(pl.col, order.KEYS)) for batch in lake.row_batches(group)
            )
            merged = order.merge_copies(keys.select(order.KEYS))["turn_id"]
            kept = dict(zip(keys["turn_id"], merged, strict=True))
            found |= of_same_turns(lake, group, rows) | {kept[row] for row in rows}
    return found


@dataclass(frozen=True, slots=True)
class _Links:
    batches: Sequence[Batch]
    runs: pl.DataFrame
    """The best copies, each with its `batch`, its `row` in that, and the `archives` of all."""
    parents: Mapping[str, Parent]
    """Of the runs whose turns are there."""
    turns: Mapping[str | None, str]
    """The id that a turn has in the episodes table, by that in its archive."""


def _read_links(batches: Sequence[Batch]) -> _Links | None:
    """Return the links of a group; None without a run, so that only that column was read."""
    if all(batch.read(schema.IS_TURN.all()).item() for batch in batches):
        return None
    calls = pl.col("tool_calls").list.len().alias("calls")
    columns = [pl.col(name) for name in sorted({*LINKS, *order.KEYS})]
    rows = pl.concat(
        batch.read(calls, *columns).with_row_index("row").with_columns(batch=pl.lit(number))
        for number, batch in enumerate(batches)
    )
    turns, runs = rows.filter(schema.IS_TURN), _distinct(rows.filter(~schema.IS_TURN))
    found = parents(list(turns.iter_rows(named=True)), list(runs.iter_rows(named=True)))
    merged = order.merge_copies(turns.select(order.KEYS))["turn_id"]
    return _Links(batches, runs, found, dict(zip(turns["turn_id"], merged, strict=True)))


def _distinct(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the best copy of each run, with what all copies say about its links."""
    ranked = rows.sort([*_BEST], descending=[*_BEST.values()])
    merged = ranked.group_by(_RUN, maintain_order=True).agg(
        pl.col("prompt_id").drop_nulls().first(),
        pl.col("subagent_calls").explode().drop_nulls().unique().sort(),
        pl.col("subagent_prompts").explode().drop_nulls().unique().sort(),
        pl.col("archive").unique().sort().alias("archives"),
        pl.exclude("prompt_id", "subagent_calls", "subagent_prompts", "archive").first(),
    )
    return merged.sort("turn_id")


def _by_turn(runs: pl.DataFrame) -> pl.DataFrame:
    """Return `subagents` of each `owner`, their `subagent_chars`, and `runs`: their hashes."""
    calls = (
        runs.select("row", pl.col("tool_calls"), pl.col("call_lines"))
        .explode("tool_calls", "call_lines")
        .drop_nulls("tool_calls")
        .select("row", pl.col("tool_calls").struct.with_fields(line=pl.col("call_lines")))
        .group_by("row", maintain_order=True)
        .agg("tool_calls")
    )
    names = {"prompt": "user_text", "answer": "assistant_text"}
    ordered = (
        runs.drop("tool_calls")
        .join(calls, on="row", how="left")
        .with_columns(
            pl.col("tool_calls").fill_null([]),
            pl.coalesce(pl.col("subagent_type").replace("", None), "type").alias("type"),
        )
        .sort("started_at", "session_id", "agent_id", nulls_last=True)
    )
    fields = (pl.col(names.get(name, name)).alias(name) for name in _RUN_FIELDS)
    structs = ordered.select("owner", "content_hash", "chars", subagents=pl.struct(*fields))
    by_owner = structs.group_by("owner", maintain_order=True)
    return by_owner.agg("subagents", runs="content_hash", subagent_chars=pl.col("chars").sum())


_RUN_FIELDS = [one.name for one in schema.SUBAGENT_RUN.fields]
_Row = Mapping[str, Any]
_Key = tuple[str, ...]
_Start = tuple[str | None, str | None]
"""What a row says about the call that started a subagent: id and type."""


def parents(turns: Sequence[_Row], runs: Sequence[_Row]) -> dict[str, Parent]:
    """Return where each run belongs, by its `turn_id`; those without a turn are left out.

    The rows have `LINKS`. The result depends on no order of the rows.
    """
    starters = _Starters()
    for row in (*turns, *runs):
        starters.add(row)
    direct = {run["turn_id"]: starters.parent(run) for run in runs}
    agents = {run["turn_id"]: run["agent_id"] for run in runs}
    return {
        run: replace(parent, turn_id=root, started_by=agents.get(parent.turn_id or ""))
        for run, parent in direct.items()
        if (root := _root(run, direct)) is not None
    }


def _root(run: str, direct: Mapping[str, Parent]) -> str | None:
    """Return the turn that a run leads to; None: one that is not there, or back to itself."""
    visited, place = {run}, direct[run].turn_id
    while place is not None and place in direct:
        if place in visited:
            return None
        visited.add(place)
        place = direct[place].turn_id
    return place


@dataclass(frozen=True, slots=True)
class _Starters:
    """Turns and runs by what they say about the subagents that they started."""

    by_key: dict[_Key, list[tuple[_Row, _Start]]] = field(default_factory=dict)
    by_session: dict[_Key, list[_Row]] = field(default_factory=dict)

    def add(self, row: _Row) -> None:
        kind, session = row["format"], row["session_id"]
        for text in row["subagent_calls"] or ():
            call_id, agent_id, type_ = (value or None for value in text.split("\t"))
            for key in filter(None, {call_id, agent_id}):
                self.by_key.setdefault((kind, key), []).append((row, (call_id, type_)))
        for prompt in row["subagent_prompts"]:
            self.by_key.setdefault((kind, session, prompt), []).append((row, (None, None)))
        if row["subagent_type"] is None:
            self.by_session.setdefault((kind, session), []).append(row)
        else:
            self.by_key.setdefault((kind, "", "", row["agent_id"]), []).append((row, (None, None)))

    def parent(self, run: _Row) -> Parent:
        """Return what started a run, by its `turn_id`, which is None if it is not there."""
        kind, session = run["format"], run["session_id"]
        own_ids = [(kind, key) for key in (run["prompt_id"], run["agent_id"]) if key]
        rank = _rank(run)
        for key in (*own_ids, (kind, session, run["user_text"]), (kind, "", "", session)):
            is_of_session = key in own_ids and len(key[-1]) < _UNIQUE_ID
            found = [
                one
                for one in self.by_key.get(key, ())
                if one[0]["turn_id"] != run["turn_id"]
                and (one[0]["session_id"] == session or not is_of_session)
            ]
            if found:
                row, start = min(found, key=lambda one: rank(one[0]))
                return Parent(row["turn_id"], None, *start)
        turns = self.by_session.get((kind, session), ())
        before = [row for row in turns if not _is_after(row, run)]
        return Parent(min(before, key=rank)["turn_id"] if before else None)


def _is_after(row: _Row, run: _Row) -> bool:
    """Return whether a row certainly started after a run."""
    times: tuple[datetime | None, datetime | None] = (row["started_at"], run["started_at"])
    return times[0] is not None and times[1] is not None and times[0] > times[1]


def _rank(run: _Row) -> Callable[[_Row], tuple[object, ...]]:
    """Return the rank of a possible parent: of its session, then the last one before the run."""

    def rank(row: _Row) -> tuple[object, ...]:
        started: datetime | None = row["started_at"]
        age = 0.0 if started is None else -started.timestamp()
        return row["session_id"] != run["session_id"], _is_after(row, run), age, row["turn_id"]

    return rank
