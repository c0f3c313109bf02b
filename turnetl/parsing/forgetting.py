"""Remove forgotten turns from the tables of a lake, in steps that may be repeated after a kill."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl
from msgspec.structs import asdict, astuple

from turnetl.base import ids
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.base.reason import SkipReason
from turnetl.base.schema import IS_TURN
from turnetl.formats.port import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.lake.forgotten import (
    ForgottenTurns,
    complete_forgotten,
    read_forgotten,
    rewrite_forgotten,
)
from turnetl.parsing.redaction import RedactedTurns

_KEYS = ("turn_id", "session_id")
_RUN_KEYS = ("session_id", "prompt_id", "agent_id", "user_text")


def remove_forgotten_turns(lake: Lake, forgotten: ForgottenTurns) -> list[GroupId]:
    """Rewrite turns files without forgotten turns, perhaps without rows; return their groups."""
    changed = set[GroupId]()
    for file in lake.turn_files():
        rows = lake.read_turns_file(file.path)
        included = is_forgotten(rows, forgotten)
        if included.any():
            kept, metadata = _without(rows, included, file.metadata)
            lake.write_turns(kept, metadata, digest=file.path.stem, previous_files=())
            changed.add(file.metadata.group)
    lake.sync_turns()
    return sorted(changed)


def forget_runs(lake: Lake, keys: Iterable[tuple[GroupId, str]]) -> ForgottenTurns:
    """Have the runs with these keys stay forgotten, with all that they started, and remove them.

    An archive may say which run a forgotten turn started after others with further ones were read.
    The list is complete before a row is removed: it could not be found from what then remains.
    """
    known = forgotten = read_forgotten(lake.files)
    added, new = set[tuple[GroupId, TurnId]](), {(group, TurnId(key)) for group, key in keys}
    while new:
        added |= new
        forgotten = forgotten.extended(new)
        rows = listed_turns(lake, forgotten)
        of_rows = () if rows.is_empty() else keys_of_runs(rows)
        new = {(rows["group_id"][0], TurnId(key)) for key in of_rows} - added
    forgotten = rewrite_forgotten(lake.files, partial(ForgottenTurns.extended, turns=added))
    remove_forgotten_turns(lake, forgotten)
    complete_forgotten(lake.files, forgotten, is_complete=known.is_complete)
    return forgotten


def delete_stale_episodes(
    lake: Lake, forgotten: ForgottenTurns, changed: Iterable[GroupId]
) -> list[GroupId]:
    """Delete the episodes tables that hold forgotten turns or are of a changed group.

    The next filter builds them again. Returns the groups without their table, sorted: also those
    of which an interrupted call deleted it.
    """
    groups = set(changed)
    for group in lake.groups():
        if group in forgotten.groups and lake.episodes_metadata(group) is None:
            groups.add(group)
        with lake.reading_episodes(group):
            rows = lake.scan_episodes(group).select(_KEYS).collect()
        if is_forgotten(rows, forgotten).any():
            groups.add(group)
    for group in groups:
        lake.delete_episodes(group)
    return sorted(groups)


def turns_with(lake: Lake, condition: pl.Expr) -> pl.DataFrame:
    """Return the turns and runs of all turns files that meet a condition, with all columns."""
    found = [
        rows
        for group in lake.groups()
        for batch in lake.row_batches(group)
        if not (rows := batch.read().filter(condition)).is_empty()
    ]
    return pl.concat(found) if found else pl.DataFrame()


def listed_turns(lake: Lake, forgotten: ForgottenTurns) -> pl.DataFrame:
    """Return the rows of all turns files that are forgotten and not removed yet."""
    found = []
    for path in lake.turn_paths() if forgotten else ():
        rows = lake.read_turns_file(path)
        found.append(rows.filter(is_forgotten(rows, forgotten)))
    return pl.concat(found) if found else pl.DataFrame()


def _without(
    rows: pl.DataFrame, included: pl.Series, metadata: ArchiveMetadata
) -> tuple[pl.DataFrame, ArchiveMetadata]:
    """Return the other rows, and the metadata that a parse of the archive would write now."""
    turns = rows.with_columns(included=included).filter(IS_TURN).select("turn_id", "included")
    # The retained turns are the last ones of the file.
    first_retained = turns.height - metadata.retained_turns
    retained = turns[first_retained:].filter(~pl.col("included"))["turn_id"]
    counts = counted_forgotten(
        ParseCounts.from_mapping(metadata.counts), int(turns["included"][:first_retained].sum())
    )
    return rows.filter(~included), replace(
        metadata,
        counts=counts.as_mapping(),
        retained_turns=len(retained),
        retained_digest="" if retained.is_empty() else ids.digest(*retained),
    )


def without_forgotten(
    turns: RedactedTurns, counts: ParseCounts, format_name: str, forgotten: ForgottenTurns
) -> tuple[RedactedTurns, ParseCounts, frozenset[str]]:
    """Return the turns that are not forgotten; the prompts' lines of others count as skipped.

    The third value are `keys_of_runs` of those that are left out.
    """
    if not forgotten:
        return turns, counts, frozenset()
    kept, keys = list[int](), set[str]()
    for number, turn in enumerate(turns.turns):
        if forgotten.includes_native(format_name, turn.native_id, turn.session_id) or (
            turn.subagent_type is not None and _is_run_for(asdict(turn), forgotten, keys)
        ):
            starts = [astuple(start) for start in turn.subagent_calls]
            keys |= {*_keys(turn.session_id, turn.agent_id, starts, turn.subagent_prompts)}
        else:
            kept.append(number)
    remaining = replace(
        turns,
        turns=[turns.turns[number] for number in kept],
        chars=[turns.chars[number] for number in kept],
        redactions=[turns.redactions[number] for number in kept],
    )
    before, after = (
        sum(one.subagent_type is None for one in rows) for rows in (turns.turns, remaining.turns)
    )
    return remaining, counted_forgotten(counts, before - after), frozenset(keys)


def counted_forgotten(counts: ParseCounts, turns: int) -> ParseCounts:
    """Return the counts of an archive after further turns of it are forgotten."""
    lines = min(turns, counts.used)
    skipped = counts.skipped + Counter({SkipReason.FORGOTTEN: lines})
    return replace(counts, turns=counts.turns - turns, used=counts.used - lines, skipped=skipped)


def rows_not_forgotten(rows: pl.DataFrame | None, forgotten: ForgottenTurns) -> pl.DataFrame | None:
    """Return the rows of `schema.TURNS` that are not forgotten; None if none remain."""
    if rows is None or not forgotten:
        return rows
    remaining = rows.filter(~is_forgotten(rows, forgotten))
    return None if remaining.is_empty() else remaining


def keys_of_runs(rows: pl.DataFrame) -> set[str]:
    """Return what says of runs that these rows started them, so that they stay forgotten too."""
    links = rows.select("session_id", "agent_id", "subagent_calls", "subagent_prompts")
    return {
        key
        for session, agent, calls, prompts in links.iter_rows()
        for key in _keys(session, agent, [call.split("\t") for call in calls or ()], prompts)
    }


def _keys(
    session: str, agent: str | None, starts: Sequence[Sequence[str | None]], prompts: Iterable[str]
) -> Iterator[str]:
    """Yield keys of runs, whose session may be the agent; by prompt if one has no other."""
    names = {name for call_id, agent_id, _ in starts for name in (call_id, agent_id) if name}
    if not starts or not all(agent_id for _, agent_id, _ in starts):
        names |= {*prompts}
    for place in {session, agent or session}:
        yield from (ids.digest(place, name) for name in names)
    if agent:
        yield ids.digest(agent)


def _is_run_for(
    run: Mapping[str, str | None], forgotten: ForgottenTurns, keys: Collection[str] = ()
) -> bool:
    """Return whether a row of a run says that a forgotten turn, or a run for one, started it."""
    session = run["session_id"] or ""
    names = filter(None, (run[name] for name in _RUN_KEYS[1:]))
    own = {ids.digest(session), *(ids.digest(session, name) for name in names)}
    return not own.isdisjoint(keys) or any(forgotten.includes(TurnId(key), None) for key in own)


def is_forgotten(rows: pl.DataFrame, forgotten: ForgottenTurns) -> pl.Series:
    """Return for each row, by its `turn_id` and `session_id`, whether its turn is forgotten."""
    keys = zip(rows["turn_id"], rows["session_id"], strict=True)
    included = [forgotten.includes(TurnId(turn), SessionId(session)) for turn, session in keys]
    if "subagent_type" in rows.columns and forgotten:
        runs = rows.with_row_index("row").filter(~IS_TURN).select("row", *_RUN_KEYS)
        for run in runs.iter_rows(named=True):
            included[run["row"]] = included[run["row"]] or _is_run_for(run, forgotten)
    return pl.Series(included, dtype=pl.Boolean)
